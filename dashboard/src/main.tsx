import { CSPProvider } from '@base-ui/react/csp-provider'
import { ApiError } from '@computer/sdk'
import { Tooltip } from '@base-ui/react/tooltip'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { router } from './routes.tsx'
import './style.css'

const Toasts = lazy(async () => ({ default: (await import('./ui/Toasts.tsx')).Toasts }))

// A tab that was open during an update of the server asks for a file that is gone: begin again, once.
window.addEventListener('vite:preloadError', (event) => {
  if (sessionStorage.getItem('reloaded') === location.href) return
  sessionStorage.setItem('reloaded', location.href)
  event.preventDefault()
  location.reload()
})

// What an error boundary shows is not logged as well, except for mistakes of the dashboard itself.
const onCaughtError = (error: unknown) => {
  if (!(error instanceof ApiError)) console.error(error)
}

createRoot(document.getElementById('root')!, { onCaughtError }).render(
  <StrictMode>
    {/* The security policy of the page allows no inline styles. */}
    <CSPProvider disableStyleElements>
      <Tooltip.Provider>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
          <Suspense>
            <Toasts />
          </Suspense>
        </QueryClientProvider>
      </Tooltip.Provider>
    </CSPProvider>
  </StrictMode>,
)

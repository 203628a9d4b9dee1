import { CSPProvider } from '@base-ui/react/csp-provider'
import { Tooltip } from '@base-ui/react/tooltip'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import '../../style.css'
import { GuestPage } from './GuestPage.tsx'

/*
 * The page of somebody without an account who opened a takeover link. It is a document of its own: it has no router, no
 * navigation and no other page, and loads nothing of them.
 */

const Toasts = lazy(async () => ({ default: (await import('../../ui/Toasts.tsx')).Toasts }))

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* The security policy of the page allows no inline styles. */}
    <CSPProvider disableStyleElements>
      <Tooltip.Provider>
        <GuestPage />
        <Suspense>
          <Toasts />
        </Suspense>
      </Tooltip.Provider>
    </CSPProvider>
  </StrictMode>,
)

import { Toast as Base } from '@base-ui/react/toast'
import { useEffect } from 'react'
import { Button } from './Button.tsx'
import { CircleAlert, CircleCheck, X } from './icons.ts'

const toasts = Base.createToastManager()
/** The manager forgets a toast that nothing shows yet. */
const shown = Promise.withResolvers<void>()

export async function addToast(toast: Parameters<typeof toasts.add>[0]): Promise<void> {
  await shown.promise
  toasts.add(toast)
}

/** Short notes in the corner of the page. Screen readers hear them; F6 brings the focus there. */
export function Toasts() {
  useEffect(() => shown.resolve(), [])
  return (
    <Base.Provider toastManager={toasts} timeout={5_000}>
      <Base.Portal>
        <Base.Viewport className="fixed right-4 bottom-4 z-50 flex w-[min(24rem,calc(100vw-2rem))] flex-col gap-2">
          <ToastList />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  )
}

function ToastList() {
  const { toasts: current } = Base.useToastManager()
  return current.map((toast) => (
    <Base.Root
      key={toast.id}
      toast={toast}
      className="flex gap-2.5 rounded-lg border border-line bg-raised p-3 text-sm shadow-pop"
    >
      {toast.type === 'error' ? (
        <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      ) : (
        <CircleCheck className="mt-0.5 size-4 shrink-0 text-good" aria-hidden />
      )}
      <Base.Content className="min-w-0 flex-1">
        <Base.Title className="font-medium break-words" />
        <Base.Description className="break-words text-muted" />
      </Base.Content>
      <Base.Close render={<Button look="ghost" size="small" label="Dismiss" icon={<X />} />} />
    </Base.Root>
  ))
}

import { ApiError } from '@computer/sdk'
import { messageOf } from './ErrorNotice.tsx'

/** Tells what has been done, in passing. */
export function notify(title: string, description?: string): void {
  void add({ title, description, type: 'done' })
}

/** Tells what failed; it stays until it is closed. */
export function notifyError(title: string, error: unknown): void {
  const requestId = error instanceof ApiError ? error.requestId : null
  const description = messageOf(error) + (requestId ? ` (request ${requestId})` : '')
  void add({ title, description, type: 'error', timeout: 0, priority: 'high' })
}

type Toast = Parameters<(typeof import('./Toasts.tsx'))['addToast']>[0]

/** The list of toasts is loaded after the first page. */
async function add(toast: Toast): Promise<void> {
  const { addToast } = await import('./Toasts.tsx')
  await addToast(toast)
}

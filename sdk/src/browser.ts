import { ApiError } from './errors.ts'
import type { Machine } from './machine.ts'
import type { CallOptions } from './options.ts'

/** By then a browser that fails to start has exited, and a running one has accepted the page. */
const startTimeoutMs = 3_000
const maxReasonLength = 1000

/** Opens a page in the browser on the desktop of a machine, which also starts the browser if necessary. */
export async function openPage(
  machine: Pick<Machine, 'display' | 'processes'>,
  url: string,
  { signal }: CallOptions,
): Promise<void> {
  const page = readUrl(url)
  // Waits until the desktop, which the browser needs, has started.
  await machine.display.get({ signal })
  const { id } = await machine.processes.start(['chromium', page], { signal })
  if ((await exitCodeSoon(machine, id, signal)) === 0) return
  const { content } = await machine.processes.readLog(id, { stream: 'stderr', signal })
  const reason = content.trim().slice(-maxReasonLength)
  throw new ApiError('operation_failed', `the browser did not start: ${reason}`)
}

/** As an argument of the browser: an address, and never one of its options. */
function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href
  const message = `${JSON.stringify(text)} is not an address that begins with http:// or https://`
  throw new ApiError('invalid_request', message)
}

/** Zero as well for a browser that has not exited, because it shows the page then. */
async function exitCodeSoon(
  { processes }: Pick<Machine, 'processes'>,
  id: string,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const timeout = AbortSignal.timeout(startTimeoutMs)
  try {
    const bound = signal ? AbortSignal.any([signal, timeout]) : timeout
    return (await processes.wait(id, { signal: bound })).exitCode
  } catch (error) {
    if (timeout.aborted && !signal?.aborted) return 0
    throw error
  }
}

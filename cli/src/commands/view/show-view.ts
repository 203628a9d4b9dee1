import { ApiError, type Machine } from '@computer/sdk'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openView } from './page-server.ts'

type ViewOptions = {
  readonly canControl: boolean
  /** Open a browser, besides printing the URL. */
  readonly open: boolean
  /** The page says this once its command has ended. */
  readonly endedMessage: string
  /** Resolves once there is no more reason to show it. */
  readonly until?: (signal: AbortSignal) => Promise<void>
}

/** Shows the desktop of a machine in a page on this computer, until Ctrl-C. Rejects if the machine is deleted. */
export async function showView(machine: Machine, options: ViewOptions): Promise<void> {
  const { canControl, open, endedMessage, until } = options
  const page = await openView(machine, { canControl })
  console.log(page.url)
  if (open) openBrowser(page.url)
  const watching = new AbortController()
  const interrupted = Promise.race(signals.map((signal) => once(process, signal)))
  const ends = [interrupted, untilDeleted(machine, watching.signal), until?.(watching.signal)]
  try {
    await Promise.race(ends.filter((end) => end !== undefined))
    await page.close(endedMessage)
  } catch (error) {
    await page.close(error instanceof ApiError ? `Ended: ${error.message}.` : 'Ended by an error.')
    throw error
  } finally {
    watching.abort()
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Rejects once the machine is deleted, or this key may not see it any more. */
async function untilDeleted(machine: Machine, signal: AbortSignal): Promise<never> {
  for await (const { type } of machine.events.subscribe({ signal }))
    if (type === 'machine.deleted') break
  throw new ApiError('not_found', `machine "${machine.name}" was deleted`)
}

/** Best effort: the URL is already printed. */
function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}

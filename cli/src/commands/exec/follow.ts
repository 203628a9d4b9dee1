import { ApiError, type Machine } from '@computer/sdk'
import { copyLog, type Sink } from '../../process-log.ts'

export type FollowOptions = {
  readonly stdout: Sink
  readonly stderr: Sink
  /** Whether to send the standard input of this program; otherwise the command has none. */
  readonly hasInput: boolean
  /** After this time the command is killed. */
  readonly timeoutMs: number | undefined
}
type End = { readonly exitCode: number; readonly timedOut: boolean }

/** As `timeout` of the coreutils, and as the API. */
const timeoutExitCode = 124

/** Resolves once the command has exited and all of its output is in the sinks. */
export async function follow(
  machine: Machine,
  id: string,
  { stdout, stderr, hasInput, timeoutMs }: FollowOptions,
): Promise<End> {
  const { processes } = machine
  const stopInput = new AbortController()
  const { signal } = stopInput
  const { promise: failed, reject } = promiseToFail()
  let timedOut = false
  const kill = () => {
    timedOut = true
    processes.signal(id, 'SIGKILL').catch((error: Error) => {
      // A command that has exited meanwhile needs no signal.
      if (!(error instanceof ApiError) || error.code !== 'conflict') reject(error)
    })
  }
  const timer = timeoutMs === undefined ? undefined : setTimeout(kill, timeoutMs)
  try {
    const input = processes.pipe(id, hasInput ? process.stdin : '', { signal })
    void input.catch((error: Error) => signal.aborted || reject(error))
    const shown = Promise.all([
      copyLog(machine, id, 'stdout', { sink: stdout, follow: true }),
      copyLog(machine, id, 'stderr', { sink: stderr, follow: true }),
    ])
    await Promise.race([shown, failed])
    const { exitCode } = await processes.wait(id)
    return { exitCode: timedOut ? timeoutExitCode : (exitCode ?? 1), timedOut }
  } catch (error) {
    await processes.signal(id, 'SIGTERM').catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
    stopInput.abort()
    process.stdin.destroy()
  }
}

function promiseToFail() {
  let reject!: (error: Error) => void
  const promise = new Promise<never>((_, fail) => (reject = fail))
  promise.catch(() => {})
  return { promise, reject }
}

import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import type { ExecBody, ExecResult } from '@computer/contract'
import { withoutInherited } from '../descriptors.ts'
import { invalid, Refusal } from '../refusal.ts'
import { argvFor, checkCommand } from './command.ts'
import { loginEnvironment, type LoginWish } from './environment.ts'
import { resetOomScore } from './oom-score.ts'
import { TailBuffer } from './tail-buffer.ts'
import type { WaitingShells } from './waiting-shells.ts'

export type ExecRequest = Omit<ExecBody, 'user'> & LoginWish

/**
 * Runs a command in a session of its own and waits for it. A timeout, or `signal` (the caller went
 * away), kills its whole process group. A child left behind in the background keeps its pipes, and
 * what it writes later is thrown away: it is not killed for writing.
 */
export async function runCommand(
  shells: WaitingShells,
  request: ExecRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { user, command, stdin } = request
  const cwd = resolve(user.home, request.cwd ?? '.')
  const login = { user, environment: loginEnvironment(request) }
  const environment: Record<string, string> = { ...login.environment, ...request.env }
  checkCommand(user, command[0] ?? '', { cwd, path: environment.PATH ?? '' })
  signal.throwIfAborted()

  const isPlain = stdin === undefined && Object.keys(request.env ?? {}).length === 0
  const waiting = isPlain ? shells.take(login, cwd, command) : undefined
  const child =
    waiting ?? (await startWithInput(argvFor(user, command), { cwd, environment, stdin }))
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)

  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    killGroup(child)
  }, request.timeout_ms)
  const onGone = () => killGroup(child)
  signal.addEventListener('abort', onGone, { once: true })
  if (signal.aborted) onGone()
  try {
    const exitCode = await waitForExit(child)
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exit_code: timedOut ? timeoutExitCode : exitCode,
      timed_out: timedOut,
      truncated: stdout.truncated || stderr.truncated,
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onGone)
    // After the answer, which it would hold up.
    if (isPlain) setTimeout(() => shells.prepare(login), 1).unref()
  }
}

const streamBytes = 1024 * 1024
const timeoutExitCode = 124
/** How long an exited command's pipes may stay silent before a process it left behind is assumed. */
const drainMs = 50
const maxDrainMs = 1000

type Place = { readonly cwd: string; readonly environment: Record<string, string> }

async function startWithInput(
  argv: readonly [string, ...string[]],
  { stdin, ...place }: Place & { readonly stdin: string | undefined },
): Promise<ChildProcess> {
  const child = await startCommand(argv, {
    ...place,
    stdin: stdin === undefined ? 'ignore' : 'pipe',
  })
  // A command that does not read its input is not at fault.
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  return child
}

/** Starts it in a session of its own, with its output in pipes. */
export async function startCommand(
  argv: readonly [string, ...string[]],
  { cwd, environment: env, stdin }: Place & { readonly stdin: 'ignore' | 'pipe' },
): Promise<ChildProcess> {
  const [file, ...args] = argv
  const stdio = [stdin, 'pipe', 'pipe'] as const
  let child: ChildProcess
  try {
    child = spawn(file, args, { cwd, env, stdio: withoutInherited(stdio), detached: true })
    await new Promise((done, fail) => child.once('spawn', done).once('error', fail))
  } catch (error) {
    throw startFailure(error as NodeJS.ErrnoException)
  }
  resetOomScore(child)
  return child
}

function startFailure(error: NodeJS.ErrnoException): Refusal {
  if (error.code === 'EAGAIN' || error.code === 'ENOMEM') {
    const message = 'the machine has no room for another process'
    return new Refusal('compute_unavailable', message, { cause: error })
  }
  if (error.code === 'E2BIG') return invalid('the arguments and the environment are too long')
  return invalid(`the command could not be started: ${error.message}`)
}

function collect(stream: ChildProcess['stdout']): TailBuffer {
  const tail = new TailBuffer(streamBytes)
  stream?.on('data', (chunk: Buffer) => tail.push(chunk))
  stream?.on('error', () => {})
  return tail
}

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // The whole group is gone.
  }
}

/** Resolves with the exit code when the child has exited and its output is in. */
function waitForExit(child: ChildProcess): Promise<number> {
  return new Promise((done) => {
    child.once('exit', (code, signal) => {
      const exitCode = code ?? 128 + constants.signals[signal!]
      const silence = setTimeout(abandon, drainMs)
      const deadline = setTimeout(abandon, maxDrainMs)
      const outputs = [child.stdout!, child.stderr!]
      for (const output of outputs) output.on('data', () => silence.refresh())
      child.once('close', finish)

      function abandon() {
        finish()
        for (const output of outputs) output.removeAllListeners('data').resume()
      }
      function finish() {
        clearTimeout(silence)
        clearTimeout(deadline)
        done(exitCode)
      }
    })
  })
}

import { spawn, type ChildProcess } from 'node:child_process'
import type { ExecBody, ExecResult } from '@computer/contract'
import { maskHidden } from '../system/descriptors.ts'
import { AgentError, invalidRequest } from '../errors.ts'
import { argvFor, resolveCommand, type SpawnOptions } from './command.ts'
import { makeLogin, type LoginOptions } from './environment.ts'
import { drainSilenceMs, exitCodeOf, maxDrainMs } from './exit.ts'
import { resetOomScore } from './oom-score.ts'
import { TailBuffer } from './tail-buffer.ts'
import type { ShellPool } from './shell-pool.ts'

export type ExecRequest = Omit<ExecBody, 'user'> & LoginOptions

/**
 * Runs a command in a session of its own and waits for it. A timeout, or `signal` (the caller went
 * away), kills its whole process group. A child left in the background keeps its pipes, so that
 * writing does not kill it; its later output is discarded.
 */
export async function runCommand(
  pool: ShellPool,
  request: ExecRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { user, command, stdin } = request
  const login = makeLogin(request)
  const options = resolveCommand(login, request)
  signal.throwIfAborted()

  const canUsePool = stdin === undefined && Object.keys(request.env ?? {}).length === 0
  const pooled = canUsePool ? pool.acquire(login, options.cwd, command) : undefined
  const child = pooled ?? (await startWithInput(argvFor(user, command), options, stdin))
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
    // After the response, which starting a shell would delay.
    if (canUsePool) setTimeout(() => pool.warm(login), 1).unref()
  }
}

const streamBytes = 1024 * 1024
const timeoutExitCode = 124

async function startWithInput(
  argv: readonly [string, ...string[]],
  options: SpawnOptions,
  stdin: string | undefined,
): Promise<ChildProcess> {
  const child = await startCommand(argv, {
    ...options,
    stdin: stdin === undefined ? 'ignore' : 'pipe',
  })
  // A command may exit without reading its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  return child
}

/** Starts a command in a session of its own, with its output in pipes. */
export async function startCommand(
  argv: readonly [string, ...string[]],
  { cwd, environment: env, stdin }: SpawnOptions & { readonly stdin: 'ignore' | 'pipe' },
): Promise<ChildProcess> {
  const [file, ...args] = argv
  const stdio = [stdin, 'pipe', 'pipe'] as const
  let child: ChildProcess
  try {
    child = spawn(file, args, { cwd, env, stdio: maskHidden(stdio), detached: true })
    await new Promise((done, fail) => child.once('spawn', done).once('error', fail))
  } catch (error) {
    throw startFailure(error as NodeJS.ErrnoException)
  }
  resetOomScore(child)
  return child
}

function startFailure(error: NodeJS.ErrnoException): AgentError {
  if (error.code === 'EAGAIN' || error.code === 'ENOMEM') {
    const message = 'the machine cannot start another process: it is out of memory or process ids'
    return new AgentError('compute_unavailable', message, { cause: error })
  }
  if (error.code === 'E2BIG')
    return invalidRequest('the arguments and the environment are too long')
  return invalidRequest(`the command could not be started: ${error.message}`)
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
      const exitCode = exitCodeOf(code, signal)
      const silence = setTimeout(abandon, drainSilenceMs)
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

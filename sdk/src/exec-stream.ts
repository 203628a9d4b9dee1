import type { Command } from './command.ts'
import { ApiError } from './errors.ts'
import type { ExecOptions } from './exec.ts'
import { longPollSeconds, type Processes } from './processes.ts'
import type { ExecResult } from './wire/records.ts'

/** As the exec endpoint: the end of each stream that is returned. */
const maxKeptBytes = 1024 * 1024
const timeoutExitCode = 124

/**
 * Runs a command as a background process and passes its output on as it arrives. A timeout, an abort or a
 * failure kills the process, with all that it started.
 */
export async function streamCommand(
  processes: Processes,
  command: Command,
  options: ExecOptions & { readonly timeoutMs: number },
): Promise<ExecResult> {
  const { signal, stdin = '', timeoutMs, onStdout, onStderr, ...rest } = options
  signal?.throwIfAborted()
  // Without the signal: an abort must know the process in order to kill it.
  const { id } = await processes.start(command, rest)
  const ended = new AbortController()
  const bound = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal
  const fail = (error: unknown) => ended.abort(error)
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    kill(processes, id).catch(fail)
  }, timeoutMs)
  try {
    processes.pipe(id, stdin, { signal: bound }).catch(fail)
    const [stdout, stderr] = await Promise.all([
      follow(processes, id, 'stdout', onStdout, bound),
      follow(processes, id, 'stderr', onStderr, bound),
    ])
    const { exitCode } = await processes.wait(id, { signal: bound })
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exitCode: timedOut ? timeoutExitCode : exitCode!,
      timedOut,
      truncated: stdout.isTruncated || stderr.isTruncated,
    }
  } catch (error) {
    await kill(processes, id).catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
    ended.abort()
  }
}

/** A process that has exited meanwhile needs no signal. */
async function kill(processes: Processes, id: string): Promise<void> {
  try {
    await processes.signal(id, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
  }
}

async function follow(
  processes: Processes,
  id: string,
  stream: 'stdout' | 'stderr',
  onText: ExecOptions['onStdout'],
  signal: AbortSignal,
): Promise<Tail> {
  const tail = new Tail()
  for (let offset = 0; ;) {
    const chunk = await processes.readLog(id, { stream, offset, wait: longPollSeconds, signal })
    tail.push(chunk.content, chunk.nextOffset - offset)
    if (chunk.content !== '') await onText?.(chunk.content)
    if (chunk.eof) return tail
    offset = chunk.nextOffset
  }
}

/** The end of a text that arrives in pieces, in a memory of its limit and one piece. */
class Tail {
  readonly #pieces: { readonly text: string; readonly bytes: number }[] = []
  #keptBytes = 0
  isTruncated = false

  /** `bytes` are those of the stream, of which the machine may have dropped some. */
  push(text: string, bytes: number): void {
    this.#pieces.push({ text, bytes })
    this.#keptBytes += bytes
    if (this.#keptBytes > maxKeptBytes) this.isTruncated = true
    while (this.#keptBytes - this.#pieces[0]!.bytes >= maxKeptBytes)
      this.#keptBytes -= this.#pieces.shift()!.bytes
  }

  text(): string {
    const text = this.#pieces.map((piece) => piece.text).join('')
    if (!this.isTruncated) return text
    const bytes = new TextEncoder().encode(text)
    let start = Math.max(0, bytes.length - maxKeptBytes)
    // At the first byte of a character.
    while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start))
  }
}

import type { Process as ProcessInfo } from '@computer/contract'
import type { GuestLog, GuestLogQuery } from '@computer/contract/guest-processes'
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { AgentError } from '../errors.ts'
import { drainSilenceMs, exitCodeOf, maxDrainMs } from '../exec/exit.ts'
import type { LogFile } from './log-file.ts'

/** Input buffered for a command that does not read it. */
const maxInputBytes = 4 * 1024 * 1024
/** Output of each stream buffered for the disk. */
const maxUnwrittenBytes = 1024 * 1024

type Stream = 'stdout' | 'stderr'
type ProcessStart = Pick<ProcessInfo, 'id' | 'command' | 'user' | 'cwd'>

/** A command that runs on without its caller. A slow disk holds it back. */
export class BackgroundProcess {
  readonly logs: Readonly<Record<Stream, LogFile>>
  readonly #child: ChildProcess
  #info: ProcessInfo
  #changed = Promise.withResolvers<void>()
  #receivedBytes = 0

  constructor(start: ProcessStart, child: ChildProcess, logs: Record<Stream, LogFile>) {
    const created_at = new Date().toISOString()
    this.#info = { ...start, state: 'running', exit_code: null, created_at, exited_at: null }
    this.#child = child
    this.logs = logs
    this.#collect(child.stdout!, logs.stdout)
    this.#collect(child.stderr!, logs.stderr)
    child.stdin!.on('error', () => {})
    child.once('exit', (code, signal) => {
      void this.#exit(exitCodeOf(code, signal))
    })
  }

  get info(): ProcessInfo {
    return this.#info
  }

  get hasExited(): boolean {
    return this.#info.state === 'exited'
  }

  /** Resolves when the process has exited, the time is over, or the caller is gone. */
  async waitForExit(seconds: number, signal: AbortSignal): Promise<ProcessInfo> {
    await this.#until(() => this.hasExited, seconds, signal)
    return this.#info
  }

  async readLog(query: Omit<GuestLogQuery, 'id'>, signal: AbortSignal): Promise<GuestLog> {
    const log = this.logs[query.stream]
    await this.#until(() => log.end > query.offset || this.hasExited, query.wait, signal)
    const { offset, bytes } = await log.read(query.offset, query.length)
    const eof = this.hasExited && offset + bytes.length === log.end
    return { content: bytes.toString('base64'), offset, eof }
  }

  write(bytes: Buffer, eof: boolean): void {
    const stdin = this.#child.stdin!
    if (this.hasExited) throw this.#exited()
    if (stdin.writableEnded) {
      throw new AgentError('conflict', `the stdin of process ${this.#info.id} is closed`)
    }
    if (stdin.writableLength > 0 && stdin.writableLength + bytes.length > maxInputBytes) {
      throw new AgentError(
        'conflict',
        `process ${this.#info.id} has not read its earlier input; try again later`,
      )
    }
    if (bytes.length > 0) stdin.write(bytes)
    if (eof) stdin.end()
  }

  signal(name: NodeJS.Signals): void {
    if (this.hasExited) throw this.#exited()
    try {
      process.kill(-this.#child.pid!, name)
    } catch {
      // It has ended; the exit event is on its way.
    }
  }

  #collect(stream: Readable, log: LogFile): void {
    stream.on('error', () => {})
    let unwrittenBytes = 0
    stream.on('data', (chunk: Buffer) => {
      unwrittenBytes += chunk.length
      this.#receivedBytes += chunk.length
      if (unwrittenBytes > maxUnwrittenBytes) stream.pause()
      void log.append(chunk).then(() => {
        unwrittenBytes -= chunk.length
        stream.resume()
        this.#wake()
      })
    })
  }

  async #exit(exitCode: number): Promise<void> {
    await this.#drain()
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.removeAllListeners('data').resume()
    }
    this.#child.stdin!.destroy()
    await Promise.all([this.logs.stdout.close(), this.logs.stderr.close()])
    const exited_at = new Date().toISOString()
    this.#info = { ...this.#info, state: 'exited', exit_code: exitCode, exited_at }
    this.#wake()
  }

  async #drain(): Promise<void> {
    const { stdout, stderr } = this.#child
    const isOpen = () => !stdout!.readableEnded || !stderr!.readableEnded
    const startedMs = performance.now()
    while (isOpen() && performance.now() - startedMs < maxDrainMs) {
      const receivedBytes = this.#receivedBytes
      await pause(drainSilenceMs)
      const isSilent = this.#receivedBytes === receivedBytes
      if (isSilent && !stdout!.isPaused() && !stderr!.isPaused()) return
    }
  }

  async #until(holds: () => boolean, seconds: number, signal: AbortSignal): Promise<void> {
    if (holds() || seconds === 0) return
    const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)])
    const over = new Promise<void>((resolve) => limit.addEventListener('abort', () => resolve()))
    while (!holds() && !limit.aborted) {
      await Promise.race([this.#changed.promise, over])
    }
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  #exited(): AgentError {
    return new AgentError('conflict', `process ${this.#info.id} has exited`)
  }
}

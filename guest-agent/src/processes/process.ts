import type { Process as ProcessInfo } from '@computer/contract'
import type { GuestLog, GuestLogQuery } from '@computer/contract/guest-processes'
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../refusal.ts'
import type { LogFile } from './log-file.ts'

/** What may wait for a command that does not read its input. */
const maxInputBytes = 4 * 1024 * 1024
/** What may wait for the disk, of each stream. */
const maxWaitingBytes = 1024 * 1024
/** How long the pipes of a command that has exited may stay silent before they are somebody else's. */
const drainMs = 50
const maxDrainMs = 1000

type Stream = 'stdout' | 'stderr'
export type ProcessStart = Pick<ProcessInfo, 'id' | 'command' | 'user' | 'cwd'>

/** A command that goes on without its caller. It is held back while the disk takes what it wrote. */
export class BackgroundProcess {
  readonly logs: Readonly<Record<Stream, LogFile>>
  readonly #child: ChildProcess
  #info: ProcessInfo
  #changed = Promise.withResolvers<void>()
  #bytes = 0

  constructor(start: ProcessStart, child: ChildProcess, logs: Record<Stream, LogFile>) {
    const created_at = new Date().toISOString()
    this.#info = { ...start, state: 'running', exit_code: null, created_at, exited_at: null }
    this.#child = child
    this.logs = logs
    this.#collect(child.stdout!, logs.stdout)
    this.#collect(child.stderr!, logs.stderr)
    child.stdin!.on('error', () => {})
    child.once('exit', (code, signal) => {
      void this.#exit(code ?? 128 + constants.signals[signal!])
    })
  }

  get info(): ProcessInfo {
    return this.#info
  }

  get hasExited(): boolean {
    return this.#info.state === 'exited'
  }

  /** Once it has exited, or the time is over, or the caller has gone. */
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
    if (stdin.writableEnded) throw new Refusal('conflict', 'its standard input was closed')
    if (stdin.writableLength > 0 && stdin.writableLength + bytes.length > maxInputBytes) {
      throw new Refusal('conflict', 'it has not read what was written before; try again later')
    }
    if (bytes.length > 0) stdin.write(bytes)
    if (eof) stdin.end()
  }

  signal(name: NodeJS.Signals): void {
    if (this.hasExited) throw this.#exited()
    try {
      process.kill(-this.#child.pid!, name)
    } catch {
      // It has ended, and that it has is about to be noticed.
    }
  }

  #collect(stream: Readable, log: LogFile): void {
    stream.on('error', () => {})
    let waitingBytes = 0
    stream.on('data', (chunk: Buffer) => {
      waitingBytes += chunk.length
      this.#bytes += chunk.length
      if (waitingBytes > maxWaitingBytes) stream.pause()
      void log.append(chunk).then(() => {
        waitingBytes -= chunk.length
        stream.resume()
        this.#wake()
      })
    })
  }

  async #exit(exitCode: number): Promise<void> {
    await this.#drained()
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.removeAllListeners('data').resume()
    }
    this.#child.stdin!.destroy()
    await Promise.all([this.logs.stdout.close(), this.logs.stderr.close()])
    const exited_at = new Date().toISOString()
    this.#info = { ...this.#info, state: 'exited', exit_code: exitCode, exited_at }
    this.#wake()
  }

  /** A child that was left behind keeps the pipes open, and is not waited for. */
  async #drained(): Promise<void> {
    const { stdout, stderr } = this.#child
    const isOpen = () => !stdout!.readableEnded || !stderr!.readableEnded
    const startedMs = performance.now()
    while (isOpen() && performance.now() - startedMs < maxDrainMs) {
      const bytes = this.#bytes
      await pause(drainMs)
      if (this.#bytes === bytes && !stdout!.isPaused() && !stderr!.isPaused()) return
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

  #exited(): Refusal {
    return new Refusal('conflict', `process ${this.#info.id} has exited`)
  }
}

import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pino, type DestinationStream } from 'pino'
import type { Config } from './config.ts'

/*
 * The log of a service: lines of JSON, in a file that the service itself rotates, because only its writer can do so
 * without losing lines; or on its standard output.
 */

/** A log file is rotated when its next line would make it larger. */
export const maxLogBytes = 100 * 1000 * 1000
/** So many full files are kept beside the one that is written: NAME.1 is the newest. */
const kept = 5
/** Writes up to this size reach a pipe whole, so that the lines of several services are not mixed. */
const wholeWriteBytes = 4096
/** Lines that wait for a reader of the standard output that is too slow. More are dropped. */
const mostWaitingBytes = 16 * 1024 * 1024

/** The log of a service of the server, as the operator has it. */
export function openLog(
  { logs, dataDir }: Pick<Config, 'logs' | 'dataDir'>,
  service: string,
): DestinationStream {
  if (logs === 'files') return new LogFile(logFilePath(join(dataDir, 'logs'), service))
  // Not synchronous: a reader that hangs must not stop the service.
  const limits = { maxWrite: wholeWriteBytes, maxLength: mostWaitingBytes }
  return pino.destination({ dest: 1, sync: false, ...limits })
}

export function logFilePath(logDir: string, name: string): string {
  return join(logDir, `${name}.log`)
}

/** A file of lines. Each is in it once `write` returns, also if the process is killed then. */
export class LogFile implements DestinationStream {
  readonly #path: string
  readonly #maxBytes: number
  #file: number
  #bytes: number
  /** Lines that the disk had no room for. */
  #lost = 0

  constructor(path: string, maxBytes = maxLogBytes) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    this.#path = path
    this.#maxBytes = maxBytes
    this.#file = open(path)
    this.#bytes = fstatSync(this.#file).size
  }

  /** A line that cannot be written is counted and dropped: a full disk must not fail the service. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate()
      if (this.#lost > 0) this.#append(Buffer.from(describeLoss(this.#lost)))
      this.#lost = 0
      this.#append(bytes)
    } catch {
      this.#lost += 1
    }
  }

  #append(bytes: Buffer): void {
    let written = 0
    while (written < bytes.length) written += writeSync(this.#file, bytes, written)
    this.#bytes += written
  }

  /** If a file cannot be renamed or made, this one is written on, and rotated when it is as long again. */
  #rotate(): void {
    this.#bytes = 0
    try {
      shiftLogs(this.#path)
      const next = open(this.#path)
      closeSync(this.#file)
      this.#file = next
    } catch {
      // The lines are safe where they are.
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }
}

/** Makes `newest` the first of the older files of a log, and replaces the oldest. A program that has it open still has it. */
export function shiftLogs(path: string, newest = path): void {
  for (let number = kept - 1; number >= 1; number--) {
    if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`)
  }
  renameSync(newest, `${path}.1`)
}

function open(path: string): number {
  return openSync(path, 'a', 0o600)
}

/** It begins a new line, because the disk may have had room for a part of the one before. */
function describeLoss(lines: number): string {
  const warn = 40
  const message = 'could not write lines of the log; make room on the disk'
  return `\n${JSON.stringify({ level: warn, time: Date.now(), lines, msg: message })}\n`
}

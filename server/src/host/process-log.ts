import { closeSync, openSync, readSync, statSync, truncateSync, writeSync } from 'node:fs'
import { maxLogBytes, shiftLogs } from '../log-file.ts'

/**
 * What a program prints, in a file. The program has the file itself open, not a pipe to us: it can print on after its
 * supervisor is killed, and nothing that the engine starts dies of a broken pipe. Its supervisor bounds the file with
 * `trimLog`.
 */
export class ProcessLog {
  readonly path: string
  readonly file: number

  constructor(path: string) {
    this.path = path
    this.file = openSync(path, 'a', 0o600)
  }

  close(): void {
    closeSync(this.file)
  }
}

/** The last lines of a log, each cut to what a person reads. */
export function readLastLines(path: string, count: number): readonly string[] {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const tail = Buffer.alloc(Math.min(size, 16 * 1024))
  if (tail.length === 0) return []
  const file = openSync(path, 'r')
  readSync(file, tail, 0, tail.length, size - tail.length)
  closeSync(file)
  const lines = tail.toString('utf8').split('\n').filter(Boolean)
  return lines.slice(-count).map((line) => line.slice(0, 400))
}

const chunkBytes = 1024 * 1024

/**
 * Moves the content of a full log to NAME.1, while its program goes on writing to the file. What is printed during the
 * copy is copied too; only a line of the very moment of the truncation may be lost.
 */
export function trimLog(path: string, maxBytes = maxLogBytes): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < maxBytes) return
  const [file, copy] = [openSync(path, 'r'), openSync(`${path}.copy`, 'w', 0o600)]
  const chunk = Buffer.alloc(chunkBytes)
  for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
    writeSync(copy, chunk, 0, read)
  }
  truncateSync(path)
  closeSync(file)
  closeSync(copy)
  shiftLogs(path, `${path}.copy`)
}

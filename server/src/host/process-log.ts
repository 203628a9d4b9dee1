import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from 'node:fs'

const maxBytes = 10 * 1024 * 1024

/**
 * The log of a program. The program has the file itself open, not a pipe to us: it can log on after its
 * supervisor is killed, and nothing that the engine starts dies of a broken pipe. Its supervisor bounds the
 * file with `trimLog`.
 */
export class ProcessLog {
  readonly path: string
  readonly file: number

  constructor(path: string) {
    this.path = path
    this.file = openSync(path, 'a', 0o600)
  }

  lastLines(count: number): readonly string[] {
    const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0
    const tail = Buffer.alloc(Math.min(size, 16 * 1024))
    if (tail.length === 0) return []
    const file = openSync(this.path, 'r')
    readSync(file, tail, 0, tail.length, size - tail.length)
    closeSync(file)
    const lines = tail.toString('utf8').split('\n').filter(Boolean)
    return lines.slice(-count).map((line) => line.slice(0, 400))
  }

  close(): void {
    closeSync(this.file)
  }
}

/** Moves the content of a full log to NAME.log.1. Lines written during the copy may be lost. */
export function trimLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < maxBytes) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path)
}

import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from 'node:fs'

const maxBytes = 10 * 1024 * 1024

/**
 * What a program writes. The program holds the file itself, not a pipe to us: it can log on when its
 * supervisor is killed, and nothing that the engine starts ever dies of a broken pipe. So that the
 * file stays bounded, `trim` is called now and then: a full one is emptied into NAME.log.1.
 */
export class ProcessLog {
  readonly path: string
  readonly file: number

  constructor(path: string) {
    this.path = path
    trimLog(path)
    this.file = openSync(path, 'a', 0o600)
  }

  trim(): void {
    trimLog(this.path)
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

/** Also for a log that its program opens by itself. What is written meanwhile may be lost. */
export function trimLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < maxBytes) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path)
}

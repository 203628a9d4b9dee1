import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { Config } from '../../config.ts'

/** `fail`: the server cannot run. `warn`: it runs with restrictions. */
export type Finding = {
  readonly status: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** The remedy in a sentence. Present with every `warn` and `fail`. */
  readonly remedy?: string
}

export type Check = {
  readonly name: string
  /** `engine`: only for a server with a private engine. */
  readonly concerns: 'server' | 'engine'
  /** Skipped when a server starts: it is slow, or does not affect the start. */
  readonly isSlow?: boolean
  run(host: Host, config: Config): Promise<Finding>
}

/** The host as checks see it. Tests substitute their own. */
export type Host = {
  /** A file's text; null when it cannot be read. */
  read(path: string): Promise<string | null>
  /** A program's output; null when it is missing or fails. */
  run(program: string, ...args: string[]): Promise<string | null>
}

export const thisHost: Host = {
  read: (path) => readFile(path, 'utf8').catch(() => null),
  run: (program, ...args) =>
    new Promise((resolve) => {
      const env = { ...process.env, LC_ALL: 'C.UTF-8' }
      execFile(program, args, { timeout: 10_000, env }, (error, output) => {
        resolve(error ? null : output.trim())
      })
    }),
}

export function ok(message: string): Finding {
  return { status: 'ok', message }
}

export function warn(message: string, remedy: string): Finding {
  return { status: 'warn', message, remedy }
}

export function fail(message: string, remedy: string): Finding {
  return { status: 'fail', message, remedy }
}

/** Compares dotted version numbers, to the precision of `least`. */
export function isAtLeast(version: string, least: string): boolean {
  const have = version.split(/[^0-9]+/).map(Number)
  for (const [index, wanted] of least.split('.').map(Number).entries()) {
    const found = have[index] ?? 0
    if (found !== wanted) return found > wanted
  }
  return true
}

export const runSetup = 'Run `npm run setup`.'

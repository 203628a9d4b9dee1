import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { maskHidden } from '../system/descriptors.ts'
import { argvFor } from './command.ts'
import type { Login } from './environment.ts'
import { resetOomScore } from './oom-score.ts'

/**
 * Pre-forked shells, at most one per user. Starting a process takes Node two to three milliseconds,
 * and changing its user another one. A pooled shell has both behind it: given a command, it execs
 * it.
 */
export class ShellPool {
  readonly #shells = new Map<string, PooledShell>()

  /** The process of the command, its stdin closed; undefined if no pooled shell can run it. */
  acquire(login: Login, cwd: string, command: readonly string[]): ChildProcess | undefined {
    const { name } = login.user
    const shell = this.#shells.get(name)
    const script = scriptOf(cwd, command)
    if (!shell || script === undefined) return undefined
    this.#shells.delete(name)
    if (shell.key !== keyOf(login)) {
      shell.process.stdin?.end()
      return undefined
    }
    ref(shell.process)
    shell.process.stdin?.end(script)
    return shell.process
  }

  /** Starts a shell for the next command of this login, if the machine can start one. */
  warm(login: Login): ChildProcess | undefined {
    const { name } = login.user
    const pooled = this.#shells.get(name)
    if (pooled) return pooled.process
    const process = startShell(login)
    if (!process) return undefined
    process.once('exit', () => {
      if (this.#shells.get(name)?.process === process) this.#shells.delete(name)
    })
    this.#shells.set(name, { key: keyOf(login), process })
    return process
  }

  /** Ends all pooled shells, because their environment is no longer valid. */
  drain(): void {
    for (const { process } of this.#shells.values()) process.stdin?.end()
    this.#shells.clear()
  }
}

/** `key` identifies the user and environment that the shell was started with. */
type PooledShell = { readonly key: string; readonly process: ChildProcess }

function startShell({ user, environment: env }: Login): ChildProcess | undefined {
  const [file, ...args] = argvFor(user, ['/bin/sh'])
  let shell: ChildProcess
  try {
    const stdio = maskHidden(['pipe', 'pipe', 'pipe'])
    shell = spawn(file, args, { cwd: '/', env, stdio, detached: true })
  } catch {
    return undefined
  }
  shell.on('error', () => {})
  if (shell.pid === undefined) return undefined
  shell.stdin!.on('error', () => {})
  resetOomScore(shell)
  unref(shell)
  return shell
}

const maxScriptLength = 32 * 1024

/**
 * The script removes what the shell adds to the environment. Undefined for a command that the shell
 * would parse as an option, that it cannot represent, or whose length only a direct start can
 * check.
 */
function scriptOf(cwd: string, command: readonly string[]): string | undefined {
  const words = command.map(quote).join(' ')
  if (command[0]?.startsWith('-') || words.includes('\0') || words.length > maxScriptLength)
    return undefined
  return `cd ${quote(cwd)} && unset PWD OLDPWD && exec ${words} </dev/null\n`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function keyOf({ user, environment }: Login): string {
  return JSON.stringify([argvFor(user, []), environment])
}

/** A pooled shell must not keep the agent from exiting. */
function unref(process: ChildProcess): void {
  process.unref()
  for (const stream of process.stdio) (stream as Socket | null)?.unref()
}

function ref(process: ChildProcess): void {
  process.ref()
  for (const stream of process.stdio) (stream as Socket | null)?.ref()
}

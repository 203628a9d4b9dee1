import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { withoutInherited } from '../descriptors.ts'
import type { User } from '../users.ts'
import { argvFor } from './command.ts'
import { resetOomScore } from './oom-score.ts'

/** Whose command it is and what its environment holds. */
export type Login = { readonly user: User; readonly environment: Readonly<Record<string, string>> }

/**
 * To start a process takes Node two to three milliseconds, and the change of user one more. So for
 * each user whose commands were run, one shell waits that has both behind it: told the command, it
 * becomes the command.
 */
export class WaitingShells {
  readonly #shells = new Map<string, Shell>()

  /** The process of the command, its input at an end; undefined where no shell waits for it. */
  take(login: Login, cwd: string, command: readonly string[]): ChildProcess | undefined {
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

  /** Has a shell wait for the next command of this login, if the machine has room for it. */
  prepare(login: Login): ChildProcess | undefined {
    const { name } = login.user
    const waiting = this.#shells.get(name)
    if (waiting) return waiting.process
    const process = startShell(login)
    if (!process) return undefined
    process.once('exit', () => {
      if (this.#shells.get(name)?.process === process) this.#shells.delete(name)
    })
    this.#shells.set(name, { key: keyOf(login), process })
    return process
  }

  /** Ends those that wait: what they were started with is to be known no more. */
  forget(): void {
    for (const { process } of this.#shells.values()) process.stdin?.end()
    this.#shells.clear()
  }
}

type Shell = { readonly key: string; readonly process: ChildProcess }

function startShell({ user, environment: env }: Login): ChildProcess | undefined {
  const [file, ...args] = argvFor(user, ['/bin/sh'])
  let shell: ChildProcess
  try {
    const stdio = withoutInherited(['pipe', 'pipe', 'pipe'])
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

/**
 * Takes out again what the shell adds to the environment. Undefined for what a shell would take for
 * an option, cannot be told, or is so long that only a start in the usual way can tell if it works.
 */
function scriptOf(cwd: string, command: readonly string[]): string | undefined {
  const words = command.map(quote).join(' ')
  if (command[0]?.startsWith('-') || words.includes('\0') || words.length > 32 * 1024)
    return undefined
  return `cd ${quote(cwd)} && unset PWD OLDPWD && exec ${words} </dev/null\n`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function keyOf({ user, environment }: Login): string {
  return JSON.stringify([argvFor(user, []), environment])
}

/** One that waits keeps nobody from ending. */
function unref(process: ChildProcess): void {
  process.unref()
  for (const stream of process.stdio) (stream as Socket | null)?.unref()
}

function ref(process: ChildProcess): void {
  process.ref()
  for (const stream of process.stdio) (stream as Socket | null)?.ref()
}

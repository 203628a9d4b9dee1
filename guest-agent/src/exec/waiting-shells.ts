import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
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

  has({ user }: Login): boolean {
    return this.#shells.has(user.name)
  }

  /** The process of the command, its input at an end; undefined where no shell waits for it. */
  take(login: Login, cwd: string, command: readonly string[]): ChildProcess | undefined {
    const { name } = login.user
    const shell = this.#shells.get(name)
    const script = scriptOf(cwd, command)
    if (!shell || script.length > maxScriptLength || script.includes('\0')) return undefined
    this.#shells.delete(name)
    if (shell.key !== keyOf(login)) {
      shell.process.stdin?.end()
      return undefined
    }
    ref(shell.process)
    shell.process.stdin?.end(script)
    return shell.process
  }

  /** Has a shell wait for the next command of this login. */
  prepare(login: Login): void {
    const { name } = login.user
    if (this.#shells.has(name)) return
    const [file, ...args] = argvFor(login.user, ['/bin/sh'])
    const { environment: env } = login
    const process = spawn(file, args, { cwd: '/', env, stdio: 'pipe', detached: true })
    const forget = () => {
      if (this.#shells.get(name)?.process === process) this.#shells.delete(name)
    }
    process.once('error', forget).once('exit', forget)
    process.stdin.on('error', () => {})
    resetOomScore(process)
    unref(process)
    this.#shells.set(name, { key: keyOf(login), process })
  }
}

type Shell = { readonly key: string; readonly process: ChildProcess }

/** A longer one may be more than the kernel takes, which only a start in the usual way can tell. */
const maxScriptLength = 32 * 1024

/** The shell's own additions to the environment are taken out again. */
function scriptOf(cwd: string, command: readonly string[]): string {
  const words = command.map(quote).join(' ')
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

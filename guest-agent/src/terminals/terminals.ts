import type { Terminal as TerminalInfo } from '@computer/contract'
import type { GuestOpenTerminal } from '@computer/contract/guest-terminals'
import { resolve } from 'node:path'
import { argvFor, checkCommand } from '../exec/command.ts'
import { loginEnvironment, type LoginWish } from '../exec/environment.ts'
import { Refusal } from '../refusal.ts'
import { Terminal } from './terminal.ts'

const maxTerminals = 64
/** How long a client may take to come for what a command wrote that is over already. */
const keptAfterExitMs = 60_000

/** The terminals of a machine. They end with their commands, with the agent, or are killed. */
export class Terminals {
  readonly #terminals = new Map<string, Terminal>()

  /** One that has the id already is answered as it is: the call was made twice. */
  open(request: GuestOpenTerminal, login: LoginWish): TerminalInfo {
    const known = this.#terminals.get(request.id)
    if (known) return known.info
    this.#makeRoom()
    const { id, cols, rows } = request
    const { user } = login
    const cwd = resolve(user.home, request.cwd ?? '.')
    const command = request.command ?? [user.shell, '-l']
    const environment: Record<string, string> = {
      ...loginEnvironment(login),
      TERM: 'xterm-256color',
      ...request.env,
    }
    checkCommand(user, command[0] ?? '', { cwd, path: environment['PATH'] ?? '' })
    const pty = { argv: argvFor(user, command), cwd, environment, cols, rows, owner: user }
    const start = { id, command, user: user.name, cwd, cols, rows, pty }
    const terminal = new Terminal(start, () => this.#forgetLater(terminal))
    this.#terminals.set(id, terminal)
    return terminal.info
  }

  list(): TerminalInfo[] {
    return this.#running()
      .map(({ info }) => info)
      .toReversed()
  }

  /** Also one whose command has just exited. */
  find(id: string): Terminal {
    const terminal = this.#terminals.get(id)
    if (!terminal) throw new Refusal('not_found', `there is no terminal ${id}`)
    return terminal
  }

  async kill(id: string): Promise<void> {
    const terminal = this.find(id)
    await terminal.kill()
    this.#terminals.delete(id)
  }

  #running(): Terminal[] {
    return [...this.#terminals.values()].filter(({ hasExited }) => !hasExited)
  }

  #makeRoom(): void {
    if (this.#running().length >= maxTerminals) {
      throw new Refusal(
        'conflict',
        `the machine has ${maxTerminals} terminals open; kill one first`,
      )
    }
    const exited = [...this.#terminals.values()].filter(({ hasExited }) => hasExited)
    for (const { id } of exited.slice(0, Math.max(0, this.#terminals.size + 1 - maxTerminals))) {
      this.#terminals.delete(id)
    }
  }

  #forgetLater(terminal: Terminal): void {
    setTimeout(() => {
      if (this.#terminals.get(terminal.id) === terminal) this.#terminals.delete(terminal.id)
    }, keptAfterExitMs).unref()
  }
}

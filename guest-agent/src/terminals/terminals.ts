import type { Terminal as TerminalInfo } from '@computer/contract'
import type { GuestOpenTerminal } from '@computer/contract/guest-terminals'
import { argvFor, resolveCommand } from '../exec/command.ts'
import { makeLogin, type LoginOptions } from '../exec/environment.ts'
import { shownCommand } from '../exec/shown-command.ts'
import { AgentError } from '../errors.ts'
import { Terminal } from './terminal.ts'

const maxTerminals = 64
/** How long an exited terminal's output can still be fetched. */
const exitedTtlMs = 60_000

/** The terminals of a machine. Each ends with its command, with the agent, or when it is killed. */
export class Terminals {
  readonly #terminals = new Map<string, Terminal>()

  /** Idempotent: returns the terminal that has the id already. */
  open(request: GuestOpenTerminal, login: LoginOptions): TerminalInfo {
    const known = this.#terminals.get(request.id)
    if (known) return known.info
    this.#makeRoom()
    const { id, cols, rows } = request
    const { user } = login
    const command = request.command ?? [user.shell, '-l']
    const env = { TERM: 'xterm-256color', ...request.env }
    const options = resolveCommand(makeLogin(login), { command, cwd: request.cwd, env })
    const pty = { argv: argvFor(user, command), ...options, cols, rows, owner: user }
    const start = { id, command, user: user.name, cwd: options.cwd, cols, rows, pty }
    const terminal = new Terminal(start, () => this.#expireLater(terminal))
    this.#terminals.set(id, terminal)
    return terminal.info
  }

  list(): TerminalInfo[] {
    return this.#running()
      .map(({ info }) => ({ ...info, command: shownCommand(info.command) }))
      .toReversed()
  }

  /** Finds exited terminals too, until they expire. */
  find(id: string): Terminal {
    const terminal = this.#terminals.get(id)
    if (!terminal) throw new AgentError('not_found', `there is no terminal ${id}`)
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
      throw new AgentError(
        'conflict',
        `the machine has ${maxTerminals} terminals open; kill one first`,
      )
    }
    const exited = [...this.#terminals.values()].filter(({ hasExited }) => hasExited)
    for (const { id } of exited.slice(0, Math.max(0, this.#terminals.size + 1 - maxTerminals))) {
      this.#terminals.delete(id)
    }
  }

  #expireLater(terminal: Terminal): void {
    setTimeout(() => {
      if (this.#terminals.get(terminal.id) === terminal) this.#terminals.delete(terminal.id)
    }, exitedTtlMs).unref()
  }
}

import type { GuestLog, GuestLogQuery, GuestStartProcess, Process } from '@computer/contract'
import { setTimeout as pause } from 'node:timers/promises'
import type { CommandHost } from './commands.ts'
import { home } from './disk.ts'
import { runCommand } from './exec.ts'
import { GuestFault } from './fault.ts'

const lookAgainMs = 5
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGTERM: 15 } as const

/** The background processes of one boot: each runs once its input was closed, or at once if it takes none. */
export class FakeProcesses {
  readonly #processes = new Map<string, FakeProcess>()
  readonly #host: () => CommandHost

  constructor(host: () => CommandHost) {
    this.#host = host
  }

  start(request: GuestStartProcess): Process {
    const known = this.#processes.get(request.id)
    if (known) return known.info
    const one = new FakeProcess(this.#host(), request)
    this.#processes.set(request.id, one)
    return one.info
  }

  list(): Process[] {
    return [...this.#processes.values()].map(({ info }) => info).toReversed()
  }

  find(id: string): FakeProcess {
    const one = this.#processes.get(id)
    if (!one) throw new GuestFault('not_found', `there is no process ${id}`)
    return one
  }
}

class FakeProcess {
  readonly #host: CommandHost
  readonly #request: GuestStartProcess
  readonly #ending = new AbortController()
  readonly #logs = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
  #stdin = Buffer.alloc(0)
  #info: Process

  constructor(host: CommandHost, request: GuestStartProcess) {
    this.#host = host
    this.#request = request
    const { id, command, user, cwd = home } = request
    const created_at = new Date().toISOString()
    const rest = { state: 'running', exit_code: null, exited_at: null } as const
    this.#info = { id, command, user, cwd, created_at, ...rest }
    if (command[0] !== 'cat') void this.#run()
  }

  get info(): Process {
    return this.#info
  }

  async wait(seconds: number): Promise<Process> {
    await this.#until(() => this.#hasExited, seconds)
    return this.#info
  }

  async readLog({ stream, offset, length, wait }: Omit<GuestLogQuery, 'id'>): Promise<GuestLog> {
    await this.#until(() => this.#hasExited || this.#logs[stream].length > offset, wait)
    const log = this.#logs[stream]
    const start = Math.min(offset, log.length)
    const bytes = log.subarray(start, start + length)
    const eof = this.#hasExited && start + bytes.length === log.length
    return { content: bytes.toString('base64'), offset: start, eof }
  }

  write(bytes: Buffer, eof: boolean): void {
    if (this.#hasExited) throw new GuestFault('conflict', 'the process has exited')
    this.#stdin = Buffer.concat([this.#stdin, bytes])
    if (eof) void this.#run()
  }

  signal(name: string): void {
    if (this.#hasExited) throw new GuestFault('conflict', 'the process has exited')
    if (!(name in signalNumbers)) return
    this.#ending.abort()
    this.#exit(128 + signalNumbers[name as keyof typeof signalNumbers])
  }

  get #hasExited(): boolean {
    return this.#info.state === 'exited'
  }

  async #run(): Promise<void> {
    const { id: _, ...request } = this.#request
    const body = { ...request, stdin: this.#stdin.toString(), timeout_ms: 3_600_000 }
    const result = await runCommand(this.#host, body, this.#ending.signal)
    if (this.#hasExited) return
    this.#logs.stdout = Buffer.from(result.stdout)
    this.#logs.stderr = Buffer.from(result.stderr)
    this.#exit(result.exit_code)
  }

  #exit(exitCode: number): void {
    const exited_at = new Date().toISOString()
    this.#info = { ...this.#info, state: 'exited', exit_code: exitCode, exited_at }
  }

  async #until(holds: () => boolean, seconds: number): Promise<void> {
    const deadlineMs = performance.now() + seconds * 1000
    while (!holds() && performance.now() < deadlineMs) await pause(lookAgainMs)
  }
}

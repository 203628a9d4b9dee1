import { openPage } from './browser.ts'
import type { Client } from './client.ts'
import { Clipboard } from './clipboard.ts'
import type { Command } from './command.ts'
import { Display, type Screenshot, type ScreenshotOptions } from './display.ts'
import { ApiError } from './errors.ts'
import { MachineActivity } from './activity.ts'
import { MachineEvents } from './events.ts'
import { runCommand, type ExecOptions } from './exec.ts'
import { Files } from './files.ts'
import { askForHelp, type AskForHelpOptions, type HelpResult } from './help.ts'
import { MachineHelpRequests } from './help-requests.ts'
import type { Input } from './input.ts'
import { Keyboard } from './keyboard.ts'
import { withHolder } from './lease.ts'
import { changeMachine, failureOf, type DeleteOptions } from './lifecycle.ts'
import { Mouse } from './mouse.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { List } from './pages.ts'
import { Ports } from './ports.ts'
import { Processes } from './processes.ts'
import { openScreen, type Screen, type ScreenOptions } from './screen.ts'
import { Secrets } from './secrets.ts'
import { isGone, MachineSnapshots } from './snapshots.ts'
import { Terminals } from './terminals.ts'
import type { Body } from './transport.ts'
import { waitFor, withTimeLimit } from './waiting.ts'
import type {
  ExecResult,
  MachineRecord,
  MachineState,
  MachineUsage,
  Session,
  Snapshot,
} from './wire/records.ts'
import { settledStates } from './wire/tables.ts'

const path = '/v1/machines/{machine_id}'

/** A machine. Its record is as of the last call; `refresh` reads it again. */
export class Machine {
  readonly mouse: Mouse
  readonly keyboard: Keyboard
  readonly clipboard: Clipboard
  readonly display: Display
  readonly files: Files
  readonly terminals: Terminals
  readonly processes: Processes
  readonly ports: Ports
  readonly secrets: Secrets
  readonly events: MachineEvents
  readonly activity: MachineActivity
  readonly helpRequests: MachineHelpRequests
  readonly snapshots: MachineSnapshots
  /** The input lease, acquired by the first call that types or clicks. */
  readonly input: Input
  readonly #client: Client
  #record: MachineRecord

  /** Obtain machines from `computer.machines`. */
  constructor(client: Client, record: MachineRecord) {
    const { transport } = client
    const { id } = record
    this.#client = client
    this.#record = record
    this.input = client.input(id)
    this.mouse = new Mouse(this.input)
    this.keyboard = new Keyboard(this.input)
    this.clipboard = new Clipboard(transport, id, this.input)
    this.display = new Display(transport, id, this.input)
    this.files = new Files(transport, id)
    this.terminals = new Terminals(client, id)
    this.processes = new Processes(client, id)
    this.ports = new Ports(transport, id)
    this.secrets = new Secrets(transport, id)
    this.events = new MachineEvents(client, id)
    this.activity = new MachineActivity(client, id)
    this.helpRequests = new MachineHelpRequests(client, id)
    this.snapshots = new MachineSnapshots(client, id)
  }

  get id(): string {
    return this.#record.id
  }
  get name(): string {
    return this.#record.name
  }
  get state(): MachineState {
    return this.#record.state
  }
  /** The whole record. */
  get data(): MachineRecord {
    return this.#record
  }

  /** What `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Machine { id: '${this.id}', name: '${this.name}', state: '${this.state}' }`
  }

  async refresh(options: CallOptions = {}): Promise<this> {
    const params = { machineId: this.id }
    this.#record = await this.#client.transport.call(`GET ${path}`, { params }, options)
    return this
  }

  /** Changes the name or metadata, or the size while it is stopped. */
  async update(body: Body<`PATCH ${typeof path}`>, options: CallOptions = {}): Promise<this> {
    const input = { params: { machineId: this.id }, body }
    this.#record = await this.#client.transport.call(`PATCH ${path}`, input, options)
    return this
  }

  /** Boots it, unless it runs. Resolves once it is running. */
  async start(options: WaitOptions = {}): Promise<this> {
    return withTimeLimit(`the start of machine ${this.name}`, options, async (bounded) => {
      this.#record = await changeMachine(this.#client, this.id, `POST ${path}/start`, {}, bounded)
      return bounded.wait === false ? this : this.#waitForState('running', [], bounded)
    })
  }

  /**
   * Shuts it down, or powers it off with `force`, unless it is stopped; its disk is kept. Resolves once it is
   * stopped.
   */
  async stop({
    force,
    ...options
  }: WaitOptions & { readonly force?: boolean | undefined } = {}): Promise<this> {
    return withTimeLimit(`the stop of machine ${this.name}`, options, async (bounded) => {
      await this.input.release(bounded)
      const body = { body: { force } }
      this.#record = await changeMachine(this.#client, this.id, `POST ${path}/stop`, body, bounded)
      return bounded.wait === false ? this : this.#waitForState('stopped', [], bounded)
    })
  }

  /** Stops and starts it. Resolves once it is running again. */
  async restart(options: WaitOptions = {}): Promise<this> {
    return withTimeLimit(`the restart of machine ${this.name}`, options, async (bounded) => {
      await this.input.release(bounded)
      this.#record = await changeMachine(this.#client, this.id, `POST ${path}/restart`, {}, bounded)
      return bounded.wait === false ? this : this.#waitForState('running', ['stopped'], bounded)
    })
  }

  /**
   * Deletes it and its disk, and its snapshots if `snapshots` is 'delete'. Resolves once it is gone, to the
   * snapshots that are kept: templates can be made from them, and `computer.snapshots.delete` removes them.
   */
  async delete({ snapshots, ...options }: DeleteOptions = {}): Promise<readonly Snapshot[]> {
    return withTimeLimit(`the deletion of machine ${this.name}`, options, async (bounded) => {
      const { signal, wait } = bounded
      const input = { params: { machineId: this.id }, query: { snapshots } }
      const record = await this.#client.transport.call(`DELETE ${path}`, input, { signal })
      if (record) this.#record = record
      this.#client.forget(this.id)
      if (wait !== false) {
        const check = () => isGone(() => this.refresh({ signal }))
        await waitFor(this.#client, { machineId: this.id, check }, bounded)
      }
      return snapshots === 'delete' ? [] : this.snapshots.kept({ signal })
    })
  }

  /** Creates a machine from its current disk or from one of its snapshots. Resolves once that runs. */
  async fork(options: Body<`POST ${typeof path}/fork`> & WaitOptions = {}): Promise<Machine> {
    return withTimeLimit(`the fork of machine ${this.name}`, options, async (bounded) => {
      const { signal, wait, timeoutMs, ...body } = bounded
      const input = { params: { machineId: this.id }, body, creates: true } as const
      const record = await this.#client.transport.call(`POST ${path}/fork`, input, { signal })
      const machine = new Machine(this.#client, record)
      return wait === false ? machine : machine.waitUntil('running', { signal, timeoutMs })
    })
  }

  /**
   * Restores it to one of its snapshots; the current disk is saved as "Before restore". Resolves once it
   * is stopped, or running if it was.
   */
  async restore(snapshotId: string, options: WaitOptions = {}): Promise<this> {
    return withTimeLimit(`the restore of machine ${this.name}`, options, async (bounded) => {
      await this.input.release(bounded)
      const { data } = await this.events.list({ limit: 1, signal: bounded.signal })
      const since = data[0]?.sequence ?? -1
      const input = { body: { snapshotId }, creates: true } as const
      const route = `POST ${path}/restore` as const
      const restoring = changeMachine(this.#client, this.id, route, input, bounded)
      this.#record = await restoring.catch(async (error: unknown) => {
        throw await withHolder(this.#client, this.id, error)
      })
      if (bounded.wait === false) return this
      const wasRunning = this.state === 'stopping'
      const check = () => this.#restoreSince(since, bounded)
      await waitFor(this.#client, { machineId: this.id, check }, bounded)
      if (wasRunning) return this.#waitForState('running', ['stopped'], bounded)
      return this.refresh(bounded)
    })
  }

  /** Resolves once it is in the given state; fails with `operation_failed` if it settles in another. */
  async waitUntil(state: 'running' | 'stopped', options: WaitOptions = {}): Promise<this> {
    const description = `waiting for machine ${this.name} to be ${state}`
    return withTimeLimit(description, options, (bounded) => this.#waitForState(state, [], bounded))
  }

  /** Its current resource usage. */
  async usage(options: CallOptions = {}): Promise<MachineUsage> {
    const params = { machineId: this.id }
    return this.#client.transport.call(`GET ${path}/usage-now`, { params }, options)
  }

  /** Runs a command: an argv array, or a command line for `bash`. A nonzero exit code is not an error. */
  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    return runCommand(this.#client.transport, this.id, this.processes, command, options)
  }

  /** Opens an http or https page in the browser on its desktop, in a new tab if the browser runs already. */
  async open(url: string, options: CallOptions = {}): Promise<void> {
    await openPage(this, url, options)
  }

  /**
   * Asks a person to do something on it, such as to log in, and resolves once the request has ended: answered, cancelled
   * or expired. Hands the input lease over; after an answer the next input acquires it again. Take a new screenshot
   * then. Goes on through lost connections. If `signal` aborts, the request is cancelled.
   */
  async askForHelp(options: AskForHelpOptions): Promise<HelpResult> {
    return askForHelp(this.#client, this.id, options)
  }

  /** Takes a screenshot. Waits while the desktop starts. */
  async screenshot(options: ScreenshotOptions = {}): Promise<Screenshot> {
    return this.display.screenshot(options)
  }

  /** Opens its live screen, for noVNC or another RFB client. */
  async screen(options: ScreenOptions = {}): Promise<Screen> {
    return openScreen(this.#client, this.id, options)
  }

  /** Its sessions. */
  sessions(options: CallOptions = {}): List<Session> {
    return this.#client.sessions.list({ machineId: this.id, ...options })
  }

  /** Releases the input lease and closes the session. The machine itself is not affected. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.input.close()
  }

  async #waitForState(
    state: 'running' | 'stopped',
    transitional: readonly MachineState[],
    options: CallOptions,
  ): Promise<this> {
    const check = async () => {
      await this.refresh(options)
      if (this.state === state) return this
      if (!settledStates.includes(this.state) || transitional.includes(this.state)) return undefined
      const reason = await failureOf(this.events, options)
      const message = `machine ${this.name} is ${this.state}, not ${state}${reason ? `: ${reason}` : ''}`
      throw new ApiError('operation_failed', message)
    }
    return waitFor(this.#client, { machineId: this.id, check }, options)
  }

  /** True once a restore has completed after the given event. */
  async #restoreSince(sequence: number, { signal }: CallOptions): Promise<true | undefined> {
    const { data } = await this.events.list({ limit: 100, signal })
    for (const event of data) {
      if (event.sequence <= sequence) return undefined
      if (event.type === 'machine.restore_completed') return true
      if (event.type === 'machine.restore_failed') {
        const message = `the restore of machine ${this.name} failed: ${event.message}`
        throw new ApiError('operation_failed', message)
      }
    }
    return undefined
  }
}

import type { Client } from './client.ts'
import { Clipboard } from './clipboard.ts'
import { Display, type Screenshot, type ScreenshotOptions } from './display.ts'
import { ApiError } from './errors.ts'
import { MachineEvents } from './events.ts'
import { runCommand, type Command, type ExecOptions } from './exec.ts'
import { Files } from './files.ts'
import type { Input } from './input.ts'
import { Keyboard } from './keyboard.ts'
import { changeMachine, failureOf } from './lifecycle.ts'
import { Mouse } from './mouse.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { List } from './pages.ts'
import { Ports } from './ports.ts'
import { Processes } from './processes.ts'
import { openScreen, type Screen, type ScreenOptions } from './screen.ts'
import { Secrets } from './secrets.ts'
import { isGone, Snapshots, type SnapshotFilter } from './snapshots.ts'
import { Terminals } from './terminals.ts'
import type { Body } from './transport.ts'
import { waitFor } from './waiting.ts'
import type {
  ExecResult,
  MachineRecord,
  MachineState,
  MachineUsage,
  Session,
  Snapshot,
} from './wire/records.ts'

const path = '/v1/machines/{machine_id}'
const resting: readonly MachineState[] = ['running', 'stopped', 'error']

/** A computer. What it holds of its record is as it was last read: `refresh` reads it again. */
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
  readonly snapshots: MachineSnapshots
  /** The input lease: acquired by the first call that types or clicks, and kept. */
  readonly input: Input
  readonly #client: Client
  #record: MachineRecord

  /** Use `computer.machines`. */
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

  async refresh(options: CallOptions = {}): Promise<this> {
    const params = { machineId: this.id }
    this.#record = await this.#client.transport.call(`GET ${path}`, { params }, options)
    return this
  }

  /** Renames it, replaces its metadata, or resizes it while it is stopped. */
  async update(body: Body<`PATCH ${typeof path}`>, options: CallOptions = {}): Promise<this> {
    const input = { params: { machineId: this.id }, body }
    this.#record = await this.#client.transport.call(`PATCH ${path}`, input, options)
    return this
  }

  /** Boots it. Resolves when it runs. */
  async start(options: WaitOptions = {}): Promise<this> {
    this.#record = await changeMachine(this.#client, this, `POST ${path}/start`, {}, options)
    return options.wait === false ? this : this.waitUntil('running', options)
  }

  /** Shuts it down; its disk is kept. `force` pulls the plug. Resolves when it is off. */
  async stop({
    force,
    ...options
  }: WaitOptions & { readonly force?: boolean | undefined } = {}): Promise<this> {
    await this.input.release(options)
    const body = { body: { force } }
    this.#record = await changeMachine(this.#client, this, `POST ${path}/stop`, body, options)
    return options.wait === false ? this : this.waitUntil('stopped', options)
  }

  /** Stops and starts it. Resolves when it runs again. */
  async restart(options: WaitOptions = {}): Promise<this> {
    await this.input.release(options)
    this.#record = await changeMachine(this.#client, this, `POST ${path}/restart`, {}, options)
    return options.wait === false ? this : this.#settle('running', ['stopped'], options)
  }

  /** Deletes it and its disk; its snapshots stay. Resolves when it is gone. */
  async delete(options: WaitOptions = {}): Promise<void> {
    const { signal } = options
    const params = { machineId: this.id }
    const record = await this.#client.transport.call(`DELETE ${path}`, { params }, { signal })
    if (record) this.#record = record
    this.#client.forget(this.id)
    if (options.wait === false) return
    await waitFor(
      this.#client,
      {
        what: `the deletion of machine ${this.id}`,
        machineId: this.id,
        look: () => isGone(() => this.refresh({ signal })),
      },
      options,
    )
  }

  /** A new machine from its disk as it is now, or from a snapshot of it. Resolves when that runs. */
  async fork({
    signal,
    wait,
    timeoutMs,
    ...body
  }: Body<`POST ${typeof path}/fork`> & WaitOptions = {}): Promise<Machine> {
    const input = { params: { machineId: this.id }, body, creates: true } as const
    const record = await this.#client.transport.call(`POST ${path}/fork`, input, { signal })
    const machine = new Machine(this.#client, record)
    return wait === false ? machine : machine.waitUntil('running', { signal, timeoutMs })
  }

  /**
   * Puts it back onto a snapshot of it; its disk of now is kept as "Before restore". Resolves when it
   * rests again, running if it ran.
   */
  async restore(snapshotId: string, options: WaitOptions = {}): Promise<this> {
    await this.input.release(options)
    const { data } = await this.events.list({ limit: 1, signal: options.signal })
    const since = data[0]?.sequence ?? -1
    const body = { body: { snapshotId } }
    this.#record = await changeMachine(this.#client, this, `POST ${path}/restore`, body, options)
    if (options.wait === false) return this
    const wasRunning = this.state === 'stopping'
    const what = `the restore of machine ${this.id}`
    await waitFor(
      this.#client,
      { what, machineId: this.id, look: () => this.#restoreSince(since, options) },
      options,
    )
    if (wasRunning) return this.#settle('running', ['stopped'], options)
    return this.refresh(options)
  }

  /** Resolves when it is in a state; `operation_failed` if it comes to rest in another. */
  async waitUntil(state: 'running' | 'stopped', options: WaitOptions = {}): Promise<this> {
    return this.#settle(state, [], options)
  }

  /** What it uses just now. */
  async usage(options: CallOptions = {}): Promise<MachineUsage> {
    const params = { machineId: this.id }
    return this.#client.transport.call(`GET ${path}/usage-now`, { params }, options)
  }

  /**
   * Runs a command: an argv array, or a line for `sh`. An exit code that is not 0 is an answer, not an
   * error.
   */
  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    return runCommand(this.#client.transport, this.id, command, options)
  }

  /** What its display shows. Waits while the desktop starts. */
  async screenshot(options: ScreenshotOptions = {}): Promise<Screenshot> {
    return this.display.screenshot(options)
  }

  /** Its live screen, for noVNC or another RFB client. */
  async screen(options: ScreenOptions = {}): Promise<Screen> {
    return openScreen(this.#client, this.id, options)
  }

  /** The sessions on it. */
  sessions(options: CallOptions = {}): List<Session> {
    return this.#client.sessions.list({ machineId: this.id, ...options })
  }

  /** Lets go of it: the input lease is released and the session closed. The machine stays as it is. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.input.close()
  }

  async #settle(
    state: 'running' | 'stopped',
    passing: readonly MachineState[],
    options: WaitOptions,
  ): Promise<this> {
    const look = async () => {
      await this.refresh(options)
      if (this.state === state) return this
      if (!resting.includes(this.state) || passing.includes(this.state)) return undefined
      const reason = await failureOf(this.events, options)
      const message = `machine ${this.name} is ${this.state}, not ${state}${reason ? `: ${reason}` : ''}`
      throw new ApiError('operation_failed', message)
    }
    const what = `machine ${this.name} being ${state}`
    return waitFor(this.#client, { what, machineId: this.id, look }, options)
  }

  /** True once the restore after an event is over. */
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

/** The snapshots of one machine. */
export class MachineSnapshots {
  readonly #all: Snapshots
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#all = new Snapshots(client)
    this.#machineId = machineId
  }

  /** Captures its disk as it is now; it keeps running. Resolves when the snapshot is ready. */
  async create(
    options: WaitOptions & { readonly name?: string | undefined } = {},
  ): Promise<Snapshot> {
    const { name, ...rest } = options
    return this.#all.create({ machineId: this.#machineId, name }, rest)
  }

  /** Newest first. */
  list(filter: Omit<SnapshotFilter, 'machineId'> = {}): List<Snapshot> {
    return this.#all.list({ ...filter, machineId: this.#machineId })
  }

  /** Deletes its newest snapshot. Resolves when that is gone. */
  async delete(snapshotId: string, options: WaitOptions = {}): Promise<void> {
    await this.#all.delete(snapshotId, options)
  }
}

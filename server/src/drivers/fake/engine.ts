import type { ImageId } from '@computer/contract'
import type { Duplex } from 'node:stream'
import {
  DriverError,
  type EngineMachine,
  type LastExit,
  type MachineDriver,
  type MachineRef,
  type MachineSpec,
} from '../machine-driver.ts'
import { createFakeDriver } from './driver.ts'
import { Faults, Gate, type FakeMethod, type FailOptions, type Hold } from './faults.ts'
import { FakeDisk } from './guest/disk.ts'
import { FakeGuest } from './guest/guest.ts'

/**
 * An engine in memory: machines that start at once and hold a disk, with a guest inside that answers
 * the guest channel as the real agent does. It serves tests, development and measurements of the
 * control plane, so it does nothing on its own: no timer runs, no call fails and no guest changes
 * unless somebody asks for it. A machine that nobody has talked to costs a few hundred bytes.
 *
 * `driver()` may be called several times: all drivers of one engine see the same machines.
 */
export type FakeEngine = { driver(): MachineDriver; readonly controls: FakeControls }

export type FakeEngineOptions = {
  readonly latencyMs?: Partial<Record<FakeMethod, number>>
  /** Images that are there from the start. */
  readonly images?: readonly ImageId[]
  readonly now?: () => Date
}

export type FakeControls = {
  failNext(method: FakeMethod, options?: FailOptions): void
  hangNext(method: FakeMethod): Hold
  calls(method: FakeMethod): number
  /** Guests that boot from now on stay silent until it is released. */
  holdBoot(): Hold
  /** Desktops of guests that boot from now on are up at once, or only when told. */
  setDesktopUpAtBoot(up: boolean): void
  /** The guest of a running machine, as one who is inside sees it. */
  guest(ref: MachineRef): FakeGuest
  /** From inside: the machine stops. */
  powerOff(ref: MachineRef): void
  /** From inside: connections break, the machine keeps running. */
  reboot(ref: MachineRef): void
  /** The guest's init is gone. */
  die(ref: MachineRef, reason?: string): void
  /** The engine loses the machine, its disk included. */
  lose(ref: MachineRef): void
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const store = new FakeStore(options)
  const { faults } = store
  return {
    driver: () => createFakeDriver(store),
    controls: {
      failNext: (method, failure) => faults.failNext(method, failure),
      hangNext: (method) => faults.hangNext(method),
      calls: (method) => faults.calls(method),
      holdBoot: () => store.holdBoot(),
      setDesktopUpAtBoot: (up) => {
        store.desktopUpAtBoot = up
      },
      guest: (ref) => store.guest(ref),
      powerOff: (ref) =>
        store.stop(ref, { kind: 'poweroff', reason: 'the guest powered itself off' }),
      reboot: (ref) => store.reboot(ref),
      die: (ref, reason = 'init was killed') => store.stop(ref, { kind: 'died', reason }),
      lose: (ref) => store.remove(ref),
    },
  }
}

type FakeMachine = {
  readonly spec: MachineSpec
  readonly listed: EngineMachine
  readonly lastExit: LastExit
  /** Made when first looked at. */
  disk: FakeDisk | null
  guest: FakeGuest | null
  /** What the guest's boot waits for. */
  boot: Gate | null
}

/** The machines of one engine, whoever drives it. */
export class FakeStore {
  readonly faults: Faults
  readonly images: Set<ImageId>
  desktopUpAtBoot = true
  readonly #now: () => Date
  readonly #machines = new Map<string, FakeMachine>()
  readonly #watchers = new Set<(ref: MachineRef) => void>()
  #bootGate: Gate | null = null
  #boots = 0

  constructor(options: FakeEngineOptions) {
    this.faults = new Faults(options.latencyMs ?? {})
    this.images = new Set(options.images)
    this.#now = options.now ?? (() => new Date())
  }

  find(ref: MachineRef): FakeMachine | undefined {
    return this.#machines.get(keyOf(ref))
  }

  get(ref: MachineRef): FakeMachine {
    const machine = this.find(ref)
    if (machine) return machine
    throw new DriverError(`there is no machine ${keyOf(ref)}`, { retryable: false })
  }

  list(): EngineMachine[] {
    return Array.from(this.#machines.values(), (machine) => machine.listed)
  }

  add(spec: MachineSpec): void {
    const ref = Object.freeze({ id: spec.id, generation: spec.generation })
    this.#machines.set(keyOf(ref), {
      spec,
      listed: { ref, state: 'stopped', createdAt: this.#now() },
      lastExit: neverRan,
      disk: null,
      guest: null,
      boot: null,
    })
  }

  setSpec(spec: MachineSpec): void {
    this.#change(spec, { spec })
  }

  start(ref: MachineRef): void {
    this.#change(ref, { state: 'running', boot: this.#bootGate })
    this.#tell(ref)
  }

  stop(ref: MachineRef, lastExit: LastExit): void {
    const { guest } = this.get(ref)
    this.#change(ref, { state: 'stopped', guest: null, boot: null, lastExit })
    guest?.shutDown()
    this.#tell(ref)
  }

  reboot(ref: MachineRef): void {
    const { guest } = this.get(ref)
    this.#change(ref, { guest: null, boot: this.#bootGate })
    guest?.shutDown()
    this.#tell(ref)
  }

  remove(ref: MachineRef): void {
    const machine = this.find(ref)
    if (!machine) return
    this.#machines.delete(keyOf(ref))
    machine.guest?.shutDown()
    this.#tell(ref)
  }

  holdBoot(): Hold {
    const gate = new Gate(() => {
      if (this.#bootGate === gate) this.#bootGate = null
      for (const machine of this.#machines.values()) {
        if (machine.boot === gate) machine.boot = null
      }
    })
    this.#bootGate = gate
    return gate
  }

  /** A stream to the agent of a machine that runs and has booted. */
  connect(ref: MachineRef): Duplex {
    const machine = this.get(ref)
    if (machine.listed.state !== 'running') {
      throw new DriverError(`machine ${keyOf(ref)} is not running`, { retryable: true })
    }
    if (machine.boot) {
      void machine.boot.pass()
      throw new DriverError(`machine ${keyOf(ref)} does not answer yet`, { retryable: true })
    }
    return this.guest(ref).accept()
  }

  guest(ref: MachineRef): FakeGuest {
    const machine = this.get(ref)
    if (machine.listed.state !== 'running') throw new Error(`machine ${keyOf(ref)} is not running`)
    machine.disk ??= new FakeDisk(this.#now)
    machine.guest ??= new FakeGuest({
      bootId: `boot-${(this.#boots += 1)}`,
      disk: machine.disk,
      memoryMb: machine.spec.memoryMb,
      desktopUp: this.desktopUpAtBoot,
      powerOff: () => this.stop(ref, { kind: 'poweroff', reason: 'the guest powered itself off' }),
      reboot: () => this.reboot(ref),
    })
    return machine.guest
  }

  onChange(watcher: (ref: MachineRef) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #change(
    ref: MachineRef,
    change: Partial<FakeMachine> & { readonly state?: EngineMachine['state'] },
  ): void {
    const machine = this.get(ref)
    const { state = machine.listed.state, ...rest } = change
    this.#machines.set(keyOf(ref), { ...machine, ...rest, listed: { ...machine.listed, state } })
  }

  #tell(ref: MachineRef): void {
    for (const watcher of this.#watchers) watcher({ id: ref.id, generation: ref.generation })
  }
}

const neverRan: LastExit = { kind: 'unknown', reason: 'the machine has not run yet' }

function keyOf(ref: MachineRef): string {
  return `${ref.id}.${ref.generation}`
}

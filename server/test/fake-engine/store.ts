import type { CaptureId, ImageId } from '@computer/contract'
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import {
  DriverError,
  type EngineMachine,
  type LastExit,
  type MachineRef,
  type MachineSpec,
} from '../../src/drivers/machine-driver.ts'
import { FakeCaptures, type CapturedDisk } from './captures.ts'
import { Faults, Gate, type FakeMethod, type Hold } from './faults.ts'
import { FakeDisk } from './disk.ts'
import { FakeGuest } from './guest/guest.ts'
import type { KeptFake } from './kept-disks.ts'

export type FakeEngineOptions = {
  readonly latencyMs?: Partial<Record<FakeMethod, number>>
  /** Images that are there from the start. */
  readonly images?: readonly ImageId[]
  readonly now?: () => Date
}

type FakeMachine = {
  readonly spec: MachineSpec
  readonly listed: EngineMachine
  readonly lastExit: LastExit
  /** The disk is a copy of it. */
  readonly base: CapturedDisk
  /** Made with its first use. */
  disk: FakeDisk | null
  guest: FakeGuest | null
  /** Holds up the guest's boot. */
  boot: Gate | null
  /** Opens streams to a program that has replaced the agent. */
  connectInstead: (() => Promise<Duplex>) | null
}

/** The machines of one engine, shared by all of its drivers. */
export class FakeStore {
  readonly faults: Faults
  readonly images: Set<ImageId>
  readonly captures: FakeCaptures
  /** By the folder of the backups that they are kept for. */
  readonly kept = new Map<string, Map<CaptureId, KeptFake>>()
  readonly pool = { totalBytes: 1024 ** 4, freeBytes: 1024 ** 4 }
  readonly memory = { totalBytes: 1024 ** 4, availableBytes: 1024 ** 4 }
  closedAddresses: readonly string[] = []
  desktopUpAtBoot = true
  readonly #now: () => Date
  readonly #machines = new Map<string, FakeMachine>()
  readonly #watchers = new Set<(ref: MachineRef) => void>()
  #bootHold: { readonly gate: Gate; bootsLeft: number } | null = null
  #boots = 0

  constructor(options: FakeEngineOptions) {
    this.faults = new Faults(options.latencyMs ?? {})
    this.images = new Set(options.images)
    this.#now = options.now ?? (() => new Date())
    this.captures = new FakeCaptures(this.#now)
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

  add(spec: MachineSpec, base: CapturedDisk): void {
    const ref = Object.freeze({ id: spec.id, generation: spec.generation })
    this.#machines.set(keyOf(ref), {
      spec,
      listed: { ref, state: 'stopped', isFrozen: false, createdAt: this.#now() },
      lastExit: neverRan,
      base,
      disk: null,
      guest: null,
      boot: null,
      connectInstead: null,
    })
  }

  setSpec(spec: MachineSpec): void {
    this.#change(spec, { spec })
  }

  start(ref: MachineRef): void {
    this.#change(ref, { state: 'running', boot: this.#gateOfBoot() })
    this.#notify(ref)
  }

  /** The state changes at once; resolves when no process of the machine is left. */
  async stop(ref: MachineRef, lastExit: LastExit): Promise<void> {
    const { guest } = this.get(ref)
    this.#change(ref, { state: 'stopped', isFrozen: false, guest: null, boot: null, lastExit })
    const ended = guest?.shutDown()
    this.#notify(ref)
    await ended
  }

  async reboot(ref: MachineRef): Promise<void> {
    const { guest } = this.get(ref)
    this.#change(ref, { guest: null, boot: this.#gateOfBoot() })
    const ended = guest?.shutDown()
    this.#notify(ref)
    await ended
  }

  async remove(ref: MachineRef): Promise<void> {
    const machine = this.find(ref)
    if (!machine) return
    this.#machines.delete(keyOf(ref))
    const ended = machine.guest?.shutDown()
    this.#notify(ref)
    await ended
    await machine.disk?.delete()
  }

  freeze(ref: MachineRef): void {
    const { listed, guest } = this.get(ref)
    if (listed.state !== 'running') throw new Error(`machine ${keyOf(ref)} is not running`)
    this.#change(ref, { isFrozen: true })
    guest?.freeze()
  }

  thaw(ref: MachineRef): void {
    const { guest } = this.get(ref)
    this.#change(ref, { isFrozen: false })
    guest?.thaw()
  }

  replaceAgent(ref: MachineRef, connect: () => Promise<Duplex>): void {
    this.get(ref).connectInstead = connect
    this.find(ref)?.guest?.dropConnections()
  }

  holdBoot(boots: number): Hold {
    const gate = new Gate(() => {
      if (this.#bootHold?.gate === gate) this.#bootHold = null
      for (const machine of this.#machines.values()) {
        if (machine.boot === gate) machine.boot = null
      }
    })
    this.#bootHold = { gate, bootsLeft: boots }
    return gate
  }

  #gateOfBoot(): Gate | null {
    const hold = this.#bootHold
    if (!hold || hold.bootsLeft === 0) return null
    hold.bootsLeft -= 1
    return hold.gate
  }

  /** A stream to the guest. Fails with a retryable error until it has booted. */
  connect(ref: MachineRef): Promise<Duplex> {
    const machine = this.get(ref)
    if (machine.listed.state !== 'running' || machine.listed.isFrozen) {
      const why = machine.listed.isFrozen ? 'is frozen' : 'is not running'
      throw new DriverError(`machine ${keyOf(ref)} ${why}`, { retryable: true })
    }
    if (machine.boot) {
      void machine.boot.pass()
      throw new DriverError(`machine ${keyOf(ref)} does not answer yet`, { retryable: true })
    }
    return machine.connectInstead ? machine.connectInstead() : this.guest(ref).accept()
  }

  guest(ref: MachineRef): FakeGuest {
    const machine = this.get(ref)
    if (machine.listed.state !== 'running') throw new Error(`machine ${keyOf(ref)} is not running`)
    if (machine.guest) return machine.guest
    machine.guest = new FakeGuest({
      bootId: `boot-${(this.#boots += 1)}`,
      desktopUp: this.desktopUpAtBoot,
      disk: () => this.disk(ref),
    })
    if (machine.listed.isFrozen) machine.guest.freeze()
    return machine.guest
  }

  disk(ref: MachineRef): FakeDisk {
    const machine = this.get(ref)
    return (machine.disk ??= makeDisk(machine.base))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.list().map(({ ref }) => this.remove(ref)))
  }

  onChange(watcher: (ref: MachineRef) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #change(
    ref: MachineRef,
    change: Partial<FakeMachine> & Partial<Pick<EngineMachine, 'state' | 'isFrozen'>>,
  ): void {
    const machine = this.get(ref)
    const { state = machine.listed.state, isFrozen = machine.listed.isFrozen, ...rest } = change
    const listed = { ...machine.listed, state, isFrozen }
    this.#machines.set(keyOf(ref), { ...machine, ...rest, listed })
  }

  #notify(ref: MachineRef): void {
    for (const watcher of this.#watchers) watcher({ id: ref.id, generation: ref.generation })
  }
}

const neverRan: LastExit = { kind: 'unknown', reason: 'the machine has not run yet' }

/** With a machine id of its own, which the engine gives a disk before its first boot. */
function makeDisk(base: CapturedDisk): FakeDisk {
  const disk = new FakeDisk(base ?? undefined)
  disk.write('/etc/machine-id', `${randomBytes(16).toString('hex')}\n`)
  return disk
}

function keyOf(ref: MachineRef): string {
  return `${ref.id}.${ref.generation}`
}

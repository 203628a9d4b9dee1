import type { CaptureId } from '@computer/contract'
import type { Duplex } from 'node:stream'
import type { MachineDriver, MachineRef } from '../../src/drivers/machine-driver.ts'
import { createFakeDriver } from './driver.ts'
import type { FailOptions, FakeMethod, HangOptions, Hold } from './faults.ts'
import type { FakeGuest } from './guest/guest.ts'
import { FakeStore, type FakeEngineOptions } from './store.ts'

export type { FakeEngineOptions }

/**
 * An engine in memory for tests, development and measurements of the control plane. It does nothing on
 * its own: no timer runs, no call fails and no guest changes unless a test asks for it. Its machines
 * start at once. A machine whose guest is not used costs a few hundred bytes; the first command, file or
 * terminal starts the real agent on a disk of its own (guest/guest.ts), which runs until the machine
 * stops or the engine is disposed of.
 *
 * `driver()` may be called several times: all drivers of one engine see the same machines.
 */
export type FakeEngine = AsyncDisposable & {
  driver(): MachineDriver
  readonly controls: FakeControls
}

export type FakeControls = {
  failNext(method: FakeMethod, options?: FailOptions): void
  /** No call of the method fails any more that `failNext` has announced. */
  recover(method: FakeMethod): void
  hangNext(method: FakeMethod, options?: HangOptions): Hold
  calls(method: FakeMethod): number
  /** Guests that boot from now on, or the next `boots`, do not respond until the hold is released. */
  holdBoot(boots?: number): Hold
  /** Root in the machine replaces its agent, for good. */
  replaceAgent(ref: MachineRef, connect: () => Promise<Duplex>): void
  /** Whether the desktops of guests that boot from now on are up at once. */
  setDesktopUpAtBoot(up: boolean): void
  /** The guest of a running machine, seen from inside. */
  guest(ref: MachineRef): FakeGuest
  /** The guest powers itself off: the machine stops. */
  powerOff(ref: MachineRef): void
  /** The guest reboots itself: connections break, the machine keeps running. */
  reboot(ref: MachineRef): void
  /** The guest has rebooted, and the engine has yet to start it again. */
  beginReboot(ref: MachineRef): void
  /** The guest's init dies. */
  die(ref: MachineRef, reason?: string): void
  /** The engine loses the machine, its disk included. */
  lose(ref: MachineRef): void
  /** The guest of a running machine does not respond until the machine is thawed. */
  freeze(ref: MachineRef): void
  /** Produces the leftovers of an interrupted capture: an incomplete capture, a frozen machine. */
  breakCapture(ref: MachineRef, id: CaptureId): void
  /** The engine loses the capture. Disks that were made from it stay. */
  loseCapture(id: CaptureId): void
  /** With 0, creation and capture fail with PoolFull. */
  setFreeBytes(bytes: number): void
  /** The addresses that are closed to machines on request. */
  closedAddresses(): readonly string[]
  /** The memory of the host that is available to programs. */
  setAvailableMemory(bytes: number): void
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const store = new FakeStore(options)
  const { captures, faults } = store
  return {
    driver: () => createFakeDriver(store),
    controls: {
      failNext: (method, failure) => faults.failNext(method, failure),
      recover: (method) => faults.recover(method),
      hangNext: (method, hang) => faults.hangNext(method, hang),
      calls: (method) => faults.calls(method),
      holdBoot: (boots = Infinity) => store.holdBoot(boots),
      replaceAgent: (ref, connect) => store.replaceAgent(ref, connect),
      setDesktopUpAtBoot: (up) => {
        store.desktopUpAtBoot = up
      },
      guest: (ref) => store.guest(ref),
      powerOff: (ref) =>
        void store.stop(ref, { kind: 'poweroff', reason: 'the guest powered itself off' }),
      reboot: (ref) => void store.reboot(ref),
      beginReboot: (ref) => void store.stop(ref, { kind: 'reboot', reason: 'the guest rebooted' }),
      die: (ref, reason = 'init was killed') => void store.stop(ref, { kind: 'died', reason }),
      lose: (ref) => void store.remove(ref),
      freeze: (ref) => store.freeze(ref),
      breakCapture: (ref, id) => {
        if (store.get(ref).listed.state === 'running') store.freeze(ref)
        captures.leaveIncomplete(id)
      },
      loseCapture: (id) => captures.remove(id),
      closedAddresses: () => store.closedAddresses,
      setFreeBytes: (bytes) => {
        store.pool.freeBytes = bytes
      },
      setAvailableMemory: (bytes) => {
        store.memory.availableBytes = bytes
      },
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

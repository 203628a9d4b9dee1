import type { CaptureId, ImageId } from '@computer/contract'
import type { MachineDriver, MachineRef } from '../../src/drivers/machine-driver.ts'
import { createFakeDriver } from './driver.ts'
import type { FailOptions, FakeMethod, HangOptions, Hold } from './faults.ts'
import type { FakeGuest } from './guest/guest.ts'
import { FakeStore } from './store.ts'

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
  hangNext(method: FakeMethod, options?: HangOptions): Hold
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
  /** A running machine stands still, and its guest is silent, until somebody thaws it. */
  freeze(ref: MachineRef): void
  /** What a capture leaves that broke off in the middle: itself half made, a running machine frozen. */
  breakCapture(ref: MachineRef, id: CaptureId): void
  /** The engine loses the capture. Disks that were made from it stay. */
  loseCapture(id: CaptureId): void
  /** With none left, nothing can be made or captured: PoolFull. */
  setFreeBytes(bytes: number): void
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const store = new FakeStore(options)
  const { captures, faults } = store
  return {
    driver: () => createFakeDriver(store),
    controls: {
      failNext: (method, failure) => faults.failNext(method, failure),
      hangNext: (method, hang) => faults.hangNext(method, hang),
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
      freeze: (ref) => store.freeze(ref),
      breakCapture: (ref, id) => {
        if (store.get(ref).listed.state === 'running') store.freeze(ref)
        captures.leaveHalf(id)
      },
      loseCapture: (id) => captures.remove(id),
      setFreeBytes: (bytes) => {
        store.pool.freeBytes = bytes
      },
    },
  }
}

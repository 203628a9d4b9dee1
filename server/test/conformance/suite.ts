import type { CaptureId, ImageId } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before } from 'node:test'
import type { Duplex } from 'node:stream'
import type {
  ImageFiles,
  MachineDriver,
  MachineRef,
  MachineSpec,
} from '../../src/drivers/machine-driver.ts'
import { isSame } from './expectations.ts'

/** An engine for the suite, with operations on guests that no driver has. */
export type DriverHarness = AsyncDisposable & {
  readonly driver: MachineDriver
  /** A second driver of the same engine, as another process would have. */
  readonly other: MachineDriver
  readonly imageId: ImageId
  readonly imageFiles: ImageFiles
  /** A new machine of the image, with an id and uid range of its own, generation 1. */
  makeSpec(): MachineSpec
  /** Requested inside the guest. Each resolves with the request, before it takes effect. */
  powerOff(ref: MachineRef): Promise<void>
  reboot(ref: MachineRef): Promise<void>
  /** Kills the guest's init. */
  die(ref: MachineRef): Promise<void>
  /** Runs a line of shell in the guest as soon as it can run one. Returns its output. */
  run(ref: MachineRef, script: string): Promise<string>
  /** From now on the guest adds lines to /home/first and then to /home/second, in turn. */
  keepWriting(ref: MachineRef): Promise<void>
  /** The guest has an agent soon, unless it has one already. */
  startAgent(ref: MachineRef): Promise<void>
  /** Exchanges a message with the agent over the stream. Fails if the stream ends first. */
  talk(ref: MachineRef, stream: Duplex): Promise<void>
  /** Leaves a running machine frozen. */
  freeze(ref: MachineRef): Promise<void>
  /** Produces the leftovers of a capture that broke off: itself incomplete, its machine frozen. */
  breakCapture(ref: MachineRef, id: CaptureId): Promise<void>
}

/** Helpers that the cases share. Disposing of the harness removes everything that they make. */
export type Suite = {
  /** Available from `before` on. */
  harness(): DriverHarness
  makeSpec(): MachineSpec
  runMachine(spec?: MachineSpec): Promise<MachineSpec>
  makeCaptureId(): CaptureId
  /** The state of a machine, which `inspect` and `list` must agree on. */
  readState(
    ref: MachineRef,
  ): Promise<{ state?: string | undefined; isFrozen?: boolean | undefined }>
  /** How often the second driver lists a capture. */
  countCaptures(id: CaptureId): Promise<number>
}

/** Call this inside a `describe`. */
export function openSuite(makeHarness: () => Promise<DriverHarness>): Suite {
  let harness: DriverHarness | undefined
  before(async () => {
    harness = await makeHarness()
  })
  after(async () => harness?.[Symbol.asyncDispose]())

  const suite: Suite = {
    harness() {
      if (!harness) throw new Error('the harness exists from the first test on')
      return harness
    },
    makeSpec: () => suite.harness().makeSpec(),
    async runMachine(spec = suite.makeSpec()) {
      const { driver } = suite.harness()
      await driver.create(spec)
      await driver.start(spec)
      return spec
    },
    makeCaptureId: () => `cap_${randomBytes(13).toString('hex')}`,
    async readState(ref) {
      const { driver } = suite.harness()
      const found = (await driver.list()).find((machine) => isSame(machine.ref, ref))
      assert.equal(await driver.inspect(ref), found?.state)
      return { state: found?.state, isFrozen: found?.isFrozen }
    },
    async countCaptures(id) {
      const listed = await suite.harness().other.listCaptures()
      return listed.filter((capture) => capture.id === id).length
    },
  }
  return suite
}

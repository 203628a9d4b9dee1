import type { CaptureId, ImageId } from '@computer/contract'
import { randomBytes } from 'node:crypto'
import { after, before } from 'node:test'
import type { Duplex } from 'node:stream'
import type {
  ImageFiles,
  MachineDriver,
  MachineRef,
  MachineSpec,
} from '../../src/drivers/machine-driver.ts'

/** An engine for the suite, with the means to do to a guest what no driver does. */
export type DriverHarness = AsyncDisposable & {
  readonly driver: MachineDriver
  /** A second driver of the same engine, as another process would have. */
  readonly other: MachineDriver
  readonly imageId: ImageId
  readonly imageFiles: ImageFiles
  /** A machine of the image that was never made before: own id, own uid range, generation 1. */
  makeSpec(): MachineSpec
  /** From inside the guest. Each resolves when it was asked for, not when it has happened. */
  powerOff(ref: MachineRef): Promise<void>
  reboot(ref: MachineRef): Promise<void>
  /** Ends the guest's init without a word. */
  die(ref: MachineRef): Promise<void>
  /** Runs a line of shell in the guest, as soon as that can be, and answers its output. */
  run(ref: MachineRef, script: string): Promise<string>
  /** From now on the guest adds lines to /home/first and then to /home/second, in turn. */
  keepWriting(ref: MachineRef): Promise<void>
  /**
   * Says something over the stream and checks what the agent answers, who may still be booting.
   * Fails where the stream ends first.
   */
  talk(ref: MachineRef, stream: Duplex): Promise<void>
  /** Leaves a running machine frozen. */
  freeze(ref: MachineRef): Promise<void>
  /** Leaves what a capture does that broke off in the middle: itself half made, its machine frozen. */
  breakCapture(ref: MachineRef, id: CaptureId): Promise<void>
}

/** What the cases share: one engine, and the removal of all that they make. */
export type Suite = {
  /** From `before` on. */
  harness(): DriverHarness
  /** A machine of the image, or the given one, which goes when the suite ends. */
  makeSpec(spec?: MachineSpec): MachineSpec
  runMachine(spec?: MachineSpec): Promise<MachineSpec>
  makeCaptureId(): CaptureId
}

/** To be called inside a `describe`. */
export function openSuite(makeHarness: () => Promise<DriverHarness>): Suite {
  let harness: DriverHarness | undefined
  const machines: MachineRef[] = []
  const captures: CaptureId[] = []
  before(async () => {
    harness = await makeHarness()
  })
  after(async () => {
    await using _ = harness
    for (const ref of machines) await harness?.driver.destroy(ref)
    for (const id of captures) await harness?.driver.removeCapture(id)
  })

  const suite: Suite = {
    harness() {
      if (!harness) throw new Error('the harness is made before the first test')
      return harness
    },
    makeSpec(spec = suite.harness().makeSpec()) {
      machines.push(spec)
      return spec
    },
    async runMachine(spec = suite.makeSpec()) {
      const { driver } = suite.harness()
      await driver.create(spec)
      await driver.start(spec)
      return spec
    },
    makeCaptureId() {
      const id = `cap_${randomBytes(13).toString('hex')}` as const
      captures.push(id)
      return id
    },
  }
  return suite
}

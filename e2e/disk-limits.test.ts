import type { CaptureId } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { createIncusDriver } from '../server/src/drivers/incus/driver.ts'
import { openHostPool } from '../server/src/drivers/incus/disks/host-pool.ts'
import { nameOf } from '../server/src/drivers/incus/instance.ts'
import { readDiskId, readQuota } from '../server/src/drivers/incus/disks/quotas.ts'
import {
  MachineFull,
  type MachineDriver,
  type MachineSpec,
} from '../server/src/drivers/machine-driver.ts'
import { soakSize } from '../scripts/soak/sizes.ts'
import { startTestEngine, type TestEngine } from './harness/engine.ts'
import { eventually } from './harness/polling.ts'
import { runWhenBooted } from './guest/exec.ts'

const project = 'limits'
const sizeBytes = 2 ** 30
const { rounds } = soakSize('full')

/** A machine can use the whole size of its disk, whatever captures retain of it (R13). */
describe('a disk holds exactly its size', () => {
  let engine: TestEngine
  let driver: MachineDriver
  const made: MachineSpec[] = []

  before(async () => {
    engine = await startTestEngine()
    driver = createIncusDriver(engine.optionsOf(project))
    await driver.prepare()
    await driver.addImage(engine.imageId, engine.imageFiles)
  })
  after(async () => {
    await driver?.[Symbol.asyncDispose]()
    await engine?.[Symbol.asyncDispose]()
  })

  test('captures of a full disk neither add nor take space, round after round', async () => {
    const machine = await runMachine()
    await expectFull(machine)
    const captures: CaptureId[] = []
    for (let round = 1; round <= rounds; round += 1) {
      captures.push(await capture(machine))
      await driver.adjustDiskLimits()
      await expectFull(machine)
      await empty(machine)
      await refill(machine)
    }
    assert.ok((await limitOf(machine)) > rounds * sizeBytes)

    for (const id of captures) {
      await driver.removeCapture(id)
      await expectFull(machine)
    }
    await waitForSize(machine)
    await driver.destroy(machine)
    assert.equal(await driver.inspect(machine), 'absent')
  })

  test('the files that a disk starts with count, and deleting them frees their space', async () => {
    const source = await runMachine()
    await expectFull(source)
    const id = await capture(source)
    const copy = await runMachine({ captureId: id })
    await expectFull(copy)
    await driver.adjustDiskLimits()
    await expectFull(copy)
    await driver.destroy(source)
    await driver.removeCapture(id)
    await empty(copy)
    await refill(copy)
    await driver.destroy(copy)
  })

  test('a machine with a full disk of which captures retain much can start and be resized', async () => {
    const machine = await runMachine()
    await expectFull(machine)
    const id = await capture(machine)
    await empty(machine)
    await refill(machine)
    await driver.stop(machine, { graceMs: 30_000 })
    await driver.start(machine)
    await expectFull(machine)
    await driver.stop(machine, { graceMs: 30_000 })
    await driver.resize({ ...machine, diskGb: 2 })
    await driver.start(machine)
    await expectFull(machine, 2 * sizeBytes)
    await driver.removeCapture(id)
    await driver.destroy(machine)
  })

  test('what backups keep of a full disk neither adds nor takes space', async () => {
    const machine = await runMachine()
    await expectFull(machine)
    await using keeper = await driver.openKeeper('limits')
    const kept = { disk: { kind: 'machine', ref: machine }, id: makeCaptureId() } as const
    assert.ok(await keeper.keep(kept.disk, kept.id))
    await driver.adjustDiskLimits()
    await expectFull(machine)
    await empty(machine)
    await refill(machine)
    assert.ok((await limitOf(machine)) > 1.5 * sizeBytes)

    await keeper.drop(kept)
    await expectFull(machine)
    await waitForSize(machine)
    await driver.destroy(machine)
  })

  test('with the API of the engine alone, a machine can write as much again as a capture retains', async () => {
    const { engineDir: _, ...options } = engine.optionsOf(project)
    await using remote = createIncusDriver(options)
    const machine = await runMachine()
    await expectFull(machine)
    const id = makeCaptureId()
    await remote.capture(machine, id).catch(async (error: unknown) => {
      // No limit can be set on a disk that is full to its last blocks.
      assert.ok(error instanceof MachineFull, String(error))
      assert.ok((await remote.listCaptures()).every((capture) => capture.id !== id))
      await inGuest(machine, 'rm /fill/0.random; sync')
    })
    const size = await remote.capture(machine, id)
    assert.ok(size.writtenBytes > 0.9 * sizeBytes && size.writtenBytes <= sizeBytes)
    assert.deepEqual(await remote.capture(machine, id), size)
    await empty(machine)
    await expectFull(machine)
    await driver.stop(machine, { graceMs: 0 })
    await remote.start(machine).catch(async (error: unknown) => {
      assert.ok(error instanceof MachineFull, String(error))
      await driver.start(machine)
    })
    assert.ok((await remote.measurePool()).freeBytes > 0)
    await remote.removeCapture(id)
    await remote.destroy(machine)
  })

  async function runMachine(overrides: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const machine = { ...engine.makeSpec(), diskGb: 1, ...overrides }
    made.push(machine)
    await driver.create(machine)
    await driver.start(machine)
    // Wait for the writes of the boot.
    await inGuest(machine, 'systemctl is-system-running --wait')
    return machine
  }

  async function capture(machine: MachineSpec): Promise<CaptureId> {
    const id = makeCaptureId()
    await driver.capture(machine, id)
    return id
  }

  async function refill(machine: MachineSpec): Promise<void> {
    await eventually('the whole size can be written', async () => {
      await driver.adjustDiskLimits()
      return (await fill(machine)) > 0.9 * sizeBytes
    })
    await expectFull(machine)
  }

  /** Expects that the machine can write the size of its disk and no more. */
  async function expectFull(machine: MachineSpec, size = sizeBytes): Promise<void> {
    const held = await fill(machine)
    assert.ok(held > 0.9 * size && held <= 1.05 * size, `${held} bytes on a disk of ${size}`)
  }

  /** Writes until the disk is full, and resolves to the bytes on it. */
  /** Resolves when nothing that was retained counts any more. */
  async function waitForSize(machine: MachineSpec): Promise<void> {
    await eventually('the limit is the size again', async () => {
      await driver.adjustDiskLimits()
      await expectFull(machine)
      return (await limitOf(machine)) === sizeBytes
    })
  }

  async function fill(machine: MachineSpec): Promise<number> {
    // The script prints nothing if it could not even create a folder.
    const held = (await inGuest(machine, fillScript)) || (await inGuest(machine, fillScript))
    return Number(held)
  }

  async function empty(machine: MachineSpec): Promise<void> {
    await inGuest(machine, 'rm -rf /fill; sync')
  }

  async function inGuest(machine: MachineSpec, script: string): Promise<string> {
    const target = { project, instance: nameOf(machine) }
    return (await runWhenBooted(engine.client, target, script)).stdout
  }

  async function limitOf(machine: MachineSpec): Promise<number> {
    const pool = await openHostPool({ ...engine.optionsOf(project), pool: 'default' })
    assert.ok(pool, 'the pool has no simple quotas')
    return (await readQuota(pool, await readDiskId(pool, nameOf(machine)))).limitBytes
  }
})

/** Writes some random bytes and allocates the rest, which is faster. */
const fillScript = `mkdir -p /fill && cd /fill && n=$(ls | wc -l)
head -c 20000000 /dev/urandom > $n.random
for size in 64M 8M 1M 64K; do
  while fallocate -l $size $n.$size; do n=$((n + 1)); done
done 2> /dev/null
sync -f /; du -s --block-size=1 /fill | cut -f1`

function makeCaptureId(): CaptureId {
  return `cap_${randomBytes(13).toString('hex')}`
}

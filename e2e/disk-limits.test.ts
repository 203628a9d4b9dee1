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
import { runInGuest } from './guest/exec.ts'

const project = 'limits'
const sizeBytes = 2 ** 30
const { rounds } = soakSize('full')

/** What a machine can have on its disk, whatever captures keep of it (R13). */
describe('a disk holds what its size says', () => {
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

  test('captures of a full disk neither give room nor take it, round after round', async () => {
    const machine = await runMachine()
    await expectFull(machine)
    const captures: CaptureId[] = []
    for (let round = 1; round <= rounds; round += 1) {
      captures.push(await capture(machine))
      await driver.tendDisks()
      await expectFull(machine)
      await empty(machine)
      await becomesFull(machine)
    }
    assert.ok((await limitOf(machine)) > rounds * sizeBytes)

    for (const id of captures) {
      await driver.removeCapture(id)
      await expectFull(machine)
    }
    await until(async () => {
      await driver.tendDisks()
      await expectFull(machine)
      return (await limitOf(machine)) === sizeBytes
    })
    await driver.destroy(machine)
    assert.equal(await driver.inspect(machine), 'absent')
  })

  test('what a disk began with counts, and its room is free again once that is deleted', async () => {
    const source = await runMachine()
    await expectFull(source)
    const id = await capture(source)
    const copy = await runMachine({ captureId: id })
    await expectFull(copy)
    await driver.tendDisks()
    await expectFull(copy)
    await driver.destroy(source)
    await driver.removeCapture(id)
    await empty(copy)
    await becomesFull(copy)
    await driver.destroy(copy)
  })

  test('a full disk of which captures keep much is started, and grows', async () => {
    const machine = await runMachine()
    await expectFull(machine)
    const id = await capture(machine)
    await empty(machine)
    await becomesFull(machine)
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

  test('where only the engine can be asked, all that is charged may be written again', async () => {
    const { engineDir: _, ...options } = engine.optionsOf(project)
    await using remote = createIncusDriver(options)
    const machine = await runMachine()
    await expectFull(machine)
    const id = `cap_${randomBytes(13).toString('hex')}` as const
    await remote.capture(machine, id).catch(async (error: unknown) => {
      // On one that is full to its last blocks no limit can be set.
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
    await remote.start(machine)
    assert.ok((await remote.measurePool()).freeBytes > 0)
    await remote.removeCapture(id)
    await remote.destroy(machine)
  })

  async function runMachine(of: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const machine = { ...engine.makeSpec(), diskGb: 1, ...of }
    made.push(machine)
    await driver.create(machine)
    await driver.start(machine)
    // What is written while it boots is no test's concern.
    await inGuest(machine, 'systemctl is-system-running --wait')
    return machine
  }

  async function capture(machine: MachineSpec): Promise<CaptureId> {
    const id = `cap_${randomBytes(13).toString('hex')}` as const
    await driver.capture(machine, id)
    return id
  }

  async function becomesFull(machine: MachineSpec): Promise<void> {
    await until(async () => {
      await driver.tendDisks()
      return (await fill(machine)) > 0.9 * sizeBytes
    })
    await expectFull(machine)
  }

  /** No more can be written, and no less than the size. */
  async function expectFull(machine: MachineSpec, size = sizeBytes): Promise<void> {
    const held = await fill(machine)
    assert.ok(held > 0.9 * size && held <= 1.05 * size, `${held} bytes on a disk of ${size}`)
  }

  /** Writes until it is refused, and tells what there is then. */
  async function fill(machine: MachineSpec): Promise<number> {
    // It says nothing where it was broken off, and where not even a folder can be made.
    const held = (await inGuest(machine, fillScript)) || (await inGuest(machine, fillScript))
    return Number(held)
  }

  async function empty(machine: MachineSpec): Promise<void> {
    await inGuest(machine, 'rm -rf /fill; sync')
  }

  async function inGuest(machine: MachineSpec, script: string): Promise<string> {
    const place = { project, instance: nameOf(machine) }
    for (;;) {
      const whenBooted = `test -S /run/systemd/private || exit 75; ${script}`
      const result = await runInGuest(engine.client, place, ['sh', '-c', whenBooted])
      if (result.code !== 75) return result.stdout
    }
  }

  async function limitOf(machine: MachineSpec): Promise<number> {
    const pool = await openHostPool({ ...engine.optionsOf(project), pool: 'default' })
    assert.ok(pool, 'the pool has simple quotas')
    return (await readQuota(pool, await readDiskId(pool, nameOf(machine)))).limitBytes
  }
})

/** Some of it random, and the rest as fast as it can be had. */
const fillScript = `mkdir -p /fill && cd /fill && n=$(ls | wc -l)
head -c 20000000 /dev/urandom > $n.random
for size in 64M 8M 1M 64K; do
  while fallocate -l $size $n.$size; do n=$((n + 1)); done
done 2> /dev/null
sync -f /; du -s --block-size=1 /fill | cut -f1`

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, 'the awaited did not come about within a minute')
  }
}

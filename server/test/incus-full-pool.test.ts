import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestEngine } from '../../e2e/harness/engine.ts'
import { templatePoolGib } from '../../e2e/harness/engine-template.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { poolFolder } from '../src/drivers/incus/disks/host-pool.ts'
import { asPoolFull } from '../src/drivers/incus/disks/capacity.ts'

test('a full pool refuses new disks, and accepts them as soon as space is freed', async () => {
  await using engine = await startTestEngine({ poolSizeGib: templatePoolGib })
  await using driver = createIncusDriver(engine.optionsOf('full'))
  await driver.prepare()
  await driver.addImage(engine.imageId, engine.imageFiles)
  const machine = engine.makeSpec()
  await driver.create(machine)
  await driver.start(machine)
  const kept = makeCaptureId()
  await driver.capture(machine, kept)

  const pool = poolFolder(engine.engineDir, 'default')
  const filler = join(pool, 'filler')
  writeUntilFull(filler)
  const { totalBytes, freeBytes } = await driver.measurePool()
  assert.ok(freeBytes < 2 ** 20, `${freeBytes} bytes are free`)
  assert.ok(totalBytes > 0.9 * templatePoolGib * 2 ** 30)

  const full = { name: 'PoolFull', retryable: true }
  const other = engine.makeSpec()
  await assert.rejects(driver.create(other), full)
  await assert.rejects(driver.create({ ...other, captureId: kept }), full)
  assert.equal(await driver.inspect(other), 'absent')
  const refused = makeCaptureId()
  await assert.rejects(driver.capture(machine, refused), full)
  assert.deepEqual(
    (await driver.listCaptures()).map(({ id }) => id),
    [kept],
  )
  // Creating a machine that exists needs no space.
  await driver.create(machine)
  assert.equal((await driver.list()).find(({ ref }) => ref.id === machine.id)?.isFrozen, false)
  await driver.adjustDiskLimits()

  await driver.removeCapture(kept)
  assert.deepEqual(await driver.listCaptures(), [])
  await driver.destroy(machine)
  assert.equal(await driver.inspect(machine), 'absent')
  await driver.sweep()

  // Once the removed disks are cleaned up, nothing but the driver itself commits for half a minute, so
  // the space of the filler counts only if the driver asks for it.
  execFileSync('btrfs', ['subvolume', 'sync', pool])
  await rm(filler, { recursive: true })
  await driver.create(other)
  await driver.destroy(other)
})

test("the engine's message for a full disk becomes PoolFull", () => {
  const message = 'Failed to run: btrfs subvolume snapshot: exit status 1 (No space left on device)'
  assert.equal((asPoolFull(new Error(message)) as Error).name, 'PoolFull')
  const other = new Error('Disk quota exceeded')
  assert.equal(asPoolFull(other), other)
})

function makeCaptureId() {
  return `cap_${randomBytes(13).toString('hex')}` as const
}

/** Fills the pool past the driver's reserve, to the last block. */
function writeUntilFull(folder: string): void {
  const script = `mkdir "$0" && cd "$0" && n=0
    for size in 256M 16M 1M 64K 4K; do
      while fallocate --length $size $n; do n=$((n + 1)); done
      sync --file-system .
    done 2> /dev/null; true`
  execFileSync('sh', ['-c', script, folder])
}

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestEngine } from '../../e2e/engine.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { poolFolder } from '../src/drivers/incus/disks/host-pool.ts'
import { explainFull } from '../src/drivers/incus/disks/capacity.ts'
import { settle } from './conformance/expectations.ts'

test('a full pool takes no more disks, and gives up what is to be removed', async () => {
  await using engine = await startTestEngine({ poolSizeGib: 5 })
  await using driver = createIncusDriver(engine.optionsOf('full'))
  await driver.prepare()
  await driver.addImage(engine.imageId, engine.imageFiles)
  const machine = engine.makeSpec()
  await driver.create(machine)
  await driver.start(machine)
  const kept = makeCaptureId()
  await driver.capture(machine, kept)

  const filler = join(poolFolder(engine.engineDir, 'default'), 'filler')
  writeUntilFull(filler)
  const room = await driver.measurePool()
  assert.ok(room.freeBytes < 2 ** 20, `${room.freeBytes} bytes are free`)
  assert.ok(room.totalBytes > 4 * 2 ** 30)

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
  // What is there already is not asked for again.
  await driver.create(machine)
  assert.equal((await driver.list()).find(({ ref }) => ref.id === machine.id)?.isFrozen, false)
  await driver.tendDisks()

  await driver.removeCapture(kept)
  assert.deepEqual(await driver.listCaptures(), [])
  await driver.destroy(machine)
  assert.equal(await driver.inspect(machine), 'absent')
  await driver.sweep()

  await rm(filler, { recursive: true })
  await settle(() => driver.create(other))
  await driver.destroy(other)
})

test("the engine's words for a full disk mean a full pool", () => {
  const said = 'Failed to run: btrfs subvolume snapshot: exit status 1 (No space left on device)'
  assert.equal((explainFull(new Error(said)) as Error).name, 'PoolFull')
  const other = new Error('Disk quota exceeded')
  assert.equal(explainFull(other), other)
})

function makeCaptureId() {
  return `cap_${randomBytes(13).toString('hex')}` as const
}

/** Past what is kept in reserve, to the last block. */
function writeUntilFull(folder: string): void {
  const script = `mkdir "$0" && cd "$0" && n=0
    for size in 256M 16M 1M 64K 4K; do
      while fallocate --length $size $n; do n=$((n + 1)); done
      sync --file-system .
    done 2> /dev/null; true`
  execFileSync('sh', ['-c', script, folder])
}

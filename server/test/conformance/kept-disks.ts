import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { buffer } from 'node:stream/consumers'
import { keyOf, type Disk, type KeptDisk } from '../../src/drivers/disk-keeper.ts'
import type { MachineSpec } from '../../src/drivers/machine-driver.ts'
import type { Suite } from './suite.ts'

/** The disks that are kept for backups, and what becomes of them in another engine. */
export function testKeptDisks(here: Suite, there: Suite): void {
  const { makeCaptureId } = here
  const open = (folder = newFolder()) => here.harness().driver.openKeeper(folder)

  test('a kept disk stays as it was, and makes a capture of that in another engine', async () => {
    const source = await here.runMachine()
    const disk = diskOf(source)
    const folder = newFolder()
    const [first, second] = [makeCaptureId(), makeCaptureId()]
    await using keeper = await open(folder)
    await here.harness().run(source, 'echo one > /home/mark')
    assert.equal(await keeper.keep(disk, first), true)
    await here.harness().run(source, 'echo two > /home/mark')
    assert.equal(await keeper.keep(disk, second), true)
    await here.harness().run(source, 'echo three > /home/mark')
    assert.deepEqual(await here.readState(source), { state: 'running', isFrozen: false })

    for (const [id, base] of [
      [first, null],
      [second, first],
    ] as const) {
      const transfer = { imageId: source.imageId, base }
      const stream = await keeper.send({ disk, id }, transfer)
      await there.harness().driver.receiveCapture(id, transfer, stream)
    }
    for (const [id, mark] of [
      [first, 'one\n'],
      [second, 'two\n'],
    ] as const) {
      const copy = await there.runMachine({ ...there.makeSpec(), captureId: id })
      assert.equal(await there.harness().run(copy, 'cat /home/mark'), mark)
      await there.harness().driver.destroy(copy)
      await there.harness().driver.removeCapture(id)
    }

    await using later = await here.harness().other.openKeeper(folder)
    assert.deepEqual(sorted(await later.listKept()), sorted([first, second]))
    await later.drop({ disk, id: first })
    assert.deepEqual(sorted(await keeper.listKept()), [second])
    const withoutBase = keeper.send({ disk, id: second }, { imageId: source.imageId, base: first })
    await assert.rejects(withoutBase, { name: 'CaptureMissing' })
    await keeper.drop({ disk, id: second })
    await here.harness().driver.destroy(source)
  })

  test('each folder has its own kept disks', async () => {
    const source = await here.runMachine()
    const id = makeCaptureId()
    await using keeper = await open()
    await using another = await open()
    await keeper.keep(diskOf(source), id)
    assert.deepEqual(await another.listKept(), [])
    await keeper.drop({ disk: diskOf(source), id })
    await here.harness().driver.destroy(source)
  })

  test('a capture and a machine that are gone meanwhile are still kept', async () => {
    const { driver } = here.harness()
    await using keeper = await open()
    const machine = await here.runMachine()
    await here.harness().run(machine, 'echo written > /home/mark')
    const captureId = makeCaptureId()
    await driver.capture(machine, captureId)
    const disks = (await keeper.listDisks()).map(keyOf)
    assert.ok(disks.includes(captureId) && disks.includes(keyOf(diskOf(machine))))
    const capture: KeptDisk = { disk: { kind: 'capture', id: captureId }, id: makeCaptureId() }
    const disk: KeptDisk = { disk: diskOf(machine), id: makeCaptureId() }
    for (const kept of [capture, disk]) assert.ok(await keeper.keep(kept.disk, kept.id))
    await driver.removeCapture(captureId)
    await driver.destroy(machine)
    for (const kept of [capture, disk]) {
      assert.equal(await keeper.keep(kept.disk, makeCaptureId()), false)
      const transfer = { imageId: machine.imageId, base: null }
      assert.ok((await buffer(await keeper.send(kept, transfer))).length > 0)
    }
    assert.deepEqual(sorted(await keeper.listKept()), sorted([capture.id, disk.id]))
    for (const kept of [capture, disk]) await keeper.drop(kept)
    assert.deepEqual(await keeper.listKept(), [])
  })

  test('a machine that waits frozen stays frozen', async () => {
    const { driver } = here.harness()
    await using keeper = await open()
    const machine = await here.runMachine()
    await driver.freeze(machine)
    const kept = { disk: diskOf(machine), id: makeCaptureId() }
    assert.ok(await keeper.keep(kept.disk, kept.id))
    assert.deepEqual(await here.readState(machine), { state: 'running', isFrozen: true })
    await keeper.drop(kept)
    await driver.destroy(machine)
  })
}

function newFolder(): string {
  return randomBytes(13).toString('hex')
}

function diskOf({ id, generation }: MachineSpec): Disk {
  return { kind: 'machine', ref: { id, generation } }
}

function sorted(kept: readonly (KeptDisk | string)[]): readonly string[] {
  return kept.map((one) => (typeof one === 'string' ? one : one.id)).sort()
}

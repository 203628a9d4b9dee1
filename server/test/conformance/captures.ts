import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MachineDriver, MachineSpec } from '../../src/drivers/machine-driver.ts'
import { isDriverError, isSame, retry, until } from './expectations.ts'
import type { DriverHarness, Suite } from './suite.ts'

/** Captures of a machine's disk: their content, and repeated and concurrent calls. */
export function testCaptures(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  let other: MachineDriver
  before(() => {
    harness = suite.harness()
    ;({ driver, other } = harness)
  })
  const { makeSpec, runMachine, makeCaptureId, readState, countCaptures } = suite

  test('the capture of a running machine holds its disk as it was, and the machine runs on', async () => {
    const source = await runMachine()
    await harness.run(source, 'echo before > /home/mark')
    const id = makeCaptureId()
    await driver.capture(source, id)
    assert.deepEqual(await readState(source), { state: 'running', isFrozen: false })
    await harness.run(source, 'echo after > /home/mark; echo new > /home/other')

    const copy = await runMachine({ ...makeSpec(), captureId: id })
    assert.equal(await harness.run(copy, 'cat /home/mark'), 'before\n')
    assert.equal(await harness.run(copy, 'cat /home/other || echo none'), 'none\n')
    await harness.run(copy, 'echo copied > /home/mark')
    assert.equal(await harness.run(source, 'cat /home/mark'), 'after\n')
    await driver.destroy(copy)

    const second = await runMachine({ ...makeSpec(), captureId: id })
    assert.equal(await harness.run(second, 'cat /home/mark'), 'before\n')
    await driver.destroy(second)
    await driver.destroy(source)
  })

  test('the capture of a stopped machine holds its disk, and the machine stays stopped', async () => {
    const source = await runMachine()
    await harness.run(source, 'echo kept > /home/mark')
    await driver.stop(source, { graceMs: 30_000 })
    const id = makeCaptureId()
    await driver.capture(source, id)
    assert.deepEqual(await readState(source), { state: 'stopped', isFrozen: false })
    const copy = await runMachine({ ...makeSpec(), captureId: id })
    assert.equal(await harness.run(copy, 'cat /home/mark'), 'kept\n')
    await driver.destroy(copy)
    await driver.destroy(source)
  })

  test('a capture of a machine that writes without a pause is of one instant', async () => {
    const source = await runMachine()
    await harness.keepWriting(source)
    await until(async () => (await linesOf(source, '/home/second')).length > 100)
    for (let round = 0; round < 3; round += 1) {
      const id = makeCaptureId()
      await retry(() => driver.capture(source, id))
      const copy = await runMachine({ ...makeSpec(), captureId: id })
      const first = await linesOf(copy, '/home/first')
      const second = await linesOf(copy, '/home/second')
      const difference = first.length - second.length
      assert.ok(difference === 0 || difference === 1, `${first.length} and ${second.length} lines`)
      assert.deepEqual(first.slice(0, second.length - 1), second.slice(0, -1))
      await driver.destroy(copy)
    }
    await driver.destroy(source)
  })

  test('a repeated capture changes nothing, also from another driver', async () => {
    const source = await runMachine()
    await harness.run(source, 'echo first > /home/mark')
    const id = makeCaptureId()
    await driver.capture(source, id)
    await harness.run(source, 'echo second > /home/mark')
    await other.capture(source, id)
    assert.equal(await countCaptures(id), 1)
    const copy = await runMachine({ ...makeSpec(), captureId: id })
    assert.equal(await harness.run(copy, 'cat /home/mark'), 'first\n')
    await driver.destroy(copy)
    await driver.destroy(source)
  })

  test('concurrent captures are all made, and the machine is left running', async () => {
    const source = await runMachine()
    await harness.run(source, 'echo kept > /home/mark')
    const [one, two] = [makeCaptureId(), makeCaptureId()]
    await Promise.all([
      retry(() => driver.capture(source, one)),
      retry(() => other.capture(source, one)),
      retry(() => other.capture(source, two)),
    ])
    assert.deepEqual(await readState(source), { state: 'running', isFrozen: false })
    for (const id of [one, two]) {
      assert.equal(await countCaptures(id), 1)
      const copy = await runMachine({ ...makeSpec(), captureId: id })
      assert.equal(await harness.run(copy, 'cat /home/mark'), 'kept\n')
      await driver.destroy(copy)
    }
    await driver.destroy(source)
  })

  test('a capture reports the bytes that its machine wrote, without those the disk began with', async () => {
    const source = await runMachine()
    await harness.run(source, 'head -c 50000000 /dev/urandom > /home/big; sync')
    const id = makeCaptureId()
    const { writtenBytes } = await driver.capture(source, id)
    assert.ok(writtenBytes >= 50_000_000 && writtenBytes < 200_000_000, `${writtenBytes} bytes`)
    const copy = { ...makeSpec(), captureId: id }
    await driver.create(copy)
    const untouched = await driver.capture(copy, makeCaptureId())
    assert.ok(untouched.writtenBytes < 25_000_000, `${untouched.writtenBytes} bytes`)
    await driver.destroy(copy)
    await driver.destroy(source)
  })

  test('a missing machine cannot be captured, nor a machine made from a missing capture', async () => {
    const id = makeCaptureId()
    const absent = makeSpec()
    await assert.rejects(driver.capture(absent, id), isDriverError({ retryable: false }))
    assert.equal(await countCaptures(id), 0)
    const missing = { name: 'CaptureMissing', retryable: false }
    await assert.rejects(driver.create({ ...absent, captureId: id }), missing)
    assert.equal(await driver.inspect(absent), 'absent')
  })

  test('every driver lists the same captures, separate from machines, until they are removed', async () => {
    const source = await runMachine()
    const [kept, gone] = [makeCaptureId(), makeCaptureId()]
    for (const id of [kept, gone]) await driver.capture(source, id)
    for (const one of [driver, other]) {
      const listed = (await one.listCaptures()).find(({ id }) => id === kept)
      assert.ok(listed!.createdAt instanceof Date && listed!.createdAt.getTime() > 0)
      assert.equal((await one.list()).filter(({ ref }) => isSame(ref, source)).length, 1)
    }
    await driver.sweep()
    await other.removeCapture(gone)
    await driver.removeCapture(gone)
    assert.deepEqual([await countCaptures(kept), await countCaptures(gone)], [1, 0])
    const copy = { ...makeSpec(), captureId: gone }
    await assert.rejects(driver.create(copy), { name: 'CaptureMissing' })
    await driver.destroy(source)
  })

  async function linesOf(spec: MachineSpec, path: string): Promise<string[]> {
    return (await harness.run(spec, `cat ${path}`)).split('\n')
  }
}

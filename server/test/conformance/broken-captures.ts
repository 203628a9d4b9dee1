import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MachineDriver } from '../../src/drivers/machine-driver.ts'
import type { DriverHarness, Suite } from './suite.ts'

/** Captures that broke off. No sweep may run meanwhile, since it would remove them. */
export function testBrokenCaptures(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  before(() => {
    harness = suite.harness()
    driver = harness.driver
  })
  const { makeSpec, runMachine, makeCaptureId, readState, countCaptures } = suite

  test('the leftovers of a capture that broke off are not used, and the next call replaces them', async () => {
    const source = await runMachine()
    await harness.run(source, 'echo kept > /home/mark')
    const id = makeCaptureId()
    await harness.breakCapture(source, id)
    assert.deepEqual(await readState(source), { state: 'running', isFrozen: true })
    assert.equal(await countCaptures(id), 1)
    const copy = { ...makeSpec(), captureId: id }
    await assert.rejects(driver.create(copy), { name: 'CaptureMissing' })
    assert.equal(await driver.inspect(copy), 'absent')

    await driver.capture(source, id)
    assert.deepEqual(await readState(source), { state: 'running', isFrozen: false })
    assert.equal(await countCaptures(id), 1)
    await runMachine(copy)
    assert.equal(await harness.run(copy, 'cat /home/mark'), 'kept\n')
    await driver.destroy(copy)

    const abandoned = makeCaptureId()
    await harness.breakCapture(source, abandoned)
    await driver.removeCapture(abandoned)
    assert.equal(await countCaptures(abandoned), 0)
    await driver.destroy(source)
  })
}

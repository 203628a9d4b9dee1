import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MachineDriver } from '../../src/drivers/machine-driver.ts'
import type { DriverHarness, Suite } from './suite.ts'

/** The engine itself, and the image that every machine of the suite is made from. */
export function testEngine(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  let other: MachineDriver
  before(() => {
    harness = suite.harness()
    ;({ driver, other } = harness)
  })

  test('prepare may be repeated, and the engine then answers', async () => {
    await driver.prepare()
    await driver.prepare()
    await driver.ping()
  })

  test('an image exists once it was added, and adding it again changes nothing', async () => {
    assert.equal(await driver.hasImage('img_00000000000000000000000zzz'), false)
    await driver.addImage(harness.imageId, harness.imageFiles)
    assert.equal(await driver.hasImage(harness.imageId), true)
    await other.addImage(harness.imageId, harness.imageFiles)
    assert.equal(await other.hasImage(harness.imageId), true)
  })
}

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MachineDriver, MachineRef, MachineSpec } from '../../src/drivers/machine-driver.ts'
import { isDriverError, isSame } from './expectations.ts'
import type { DriverHarness, Suite } from './suite.ts'

/** Machines that were frozen, on purpose or by a capture that broke off. */
export function testFreezing(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  let other: MachineDriver
  before(() => {
    harness = suite.harness()
    ;({ driver, other } = harness)
  })
  const { makeSpec, runMachine, makeCaptureId } = suite

  for (const [name, wake] of [
    ['thaw', (ref) => driver.thaw(ref)],
    ['start', (ref) => driver.start(ref)],
    ['wake', (ref) => driver.wake(ref)],
    ['capture', (ref) => driver.capture(ref, makeCaptureId())],
  ] as [string, (spec: MachineSpec) => Promise<unknown>][]) {
    test(`a frozen machine counts as running, is listed as frozen, and resumes after ${name}`, async () => {
      const spec = await runMachine()
      await harness.run(spec, 'echo kept > /home/mark')
      await harness.freeze(spec)
      assert.equal(await driver.inspect(spec), 'running')
      assert.equal(await isFrozen(spec), true)
      await wake(spec)
      await wake(spec)
      assert.equal(await isFrozen(spec), false)
      assert.equal(await driver.inspect(spec), 'running')
      assert.equal(await harness.run(spec, 'cat /home/mark'), 'kept\n')
      await driver.destroy(spec)
    })
  }

  test('a machine that the driver froze stays frozen, and wakes with the limits of its spec', async () => {
    const spec = await runMachine()
    await harness.run(spec, 'echo kept > /home/mark')
    await driver.freeze(spec)
    await other.freeze(spec)
    assert.equal(await driver.inspect(spec), 'running')
    assert.equal(await isFrozen(spec), true)
    const larger = { ...spec, memoryMb: spec.memoryMb * 2, diskGb: spec.diskGb + 1 }
    await driver.wake(larger)
    await other.wake(larger)
    assert.equal(await isFrozen(spec), false)
    assert.equal(await harness.run(spec, 'cat /home/mark'), 'kept\n')
    await driver.destroy(spec)
  })

  test('only a running machine is frozen and woken; a missing one fails for good', async () => {
    const spec = makeSpec()
    await assert.rejects(driver.freeze(spec), isDriverError({ retryable: false }))
    await assert.rejects(driver.wake(spec), isDriverError({ retryable: false }))
    await driver.create(spec)
    await assert.rejects(driver.freeze(spec), isDriverError({ retryable: true }))
    await assert.rejects(driver.wake(spec), isDriverError({ retryable: true }))
    await driver.destroy(spec)
  })

  for (const graceMs of [0, 30_000]) {
    test(`a frozen machine is stopped within ${graceMs} ms of grace`, async () => {
      const spec = await runMachine()
      await harness.freeze(spec)
      await driver.stop(spec, { graceMs })
      assert.equal(await driver.inspect(spec), 'stopped')
      assert.equal(await isFrozen(spec), false)
      await driver.start(spec)
      assert.equal(await harness.run(spec, 'echo awake'), 'awake\n')
      await driver.destroy(spec)
    })
  }

  test('a frozen machine is destroyed', async () => {
    const spec = await runMachine()
    await harness.freeze(spec)
    await driver.destroy(spec)
    assert.equal(await driver.inspect(spec), 'absent')
  })

  test('thawing a machine that is not frozen does nothing, and a missing one fails', async () => {
    const spec = makeSpec()
    await assert.rejects(driver.thaw(spec), isDriverError({ retryable: false }))
    await driver.create(spec)
    await driver.thaw(spec)
    assert.equal(await driver.inspect(spec), 'stopped')
    await driver.destroy(spec)
  })

  async function isFrozen(spec: MachineRef): Promise<boolean | undefined> {
    return (await driver.list()).find(({ ref }) => isSame(ref, spec))?.isFrozen
  }
}

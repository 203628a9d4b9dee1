import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Duplex } from 'node:stream'
import {
  DriverError,
  type MachineDriver,
  type MachineRef,
} from '../../src/drivers/machine-driver.ts'
import { isClosed, isDriverError, until } from './expectations.ts'
import type { DriverHarness, Suite } from './suite.ts'

/** The streams to the agents in machines. */
export function testStreams(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  before(() => {
    harness = suite.harness()
    ;({ driver } = harness)
  })
  const { runMachine } = suite

  test('streams to the agent are independent and end with the machine', async () => {
    const spec = await runMachine()
    const [first, second] = await Promise.all([connect(spec), connect(spec)])
    await Promise.all([harness.talk(spec, first), harness.talk(spec, second)])
    first.destroy()
    await isClosed(first)
    await harness.talk(spec, second)
    await driver.stop(spec, { graceMs: 0 })
    await isClosed(second)
    await assert.rejects(driver.connect(spec), isDriverError({ retryable: true }))
  })

  test('a guest that reboots itself keeps running', async () => {
    const spec = await runMachine()
    const before = await connect(spec)
    await harness.talk(spec, before)
    await harness.reboot(spec)
    await isClosed(before)
    await talkWhenUp(spec)
    assert.equal(await driver.inspect(spec), 'running')
  })

  /** The stream may be requested before the agent listens. */
  async function connect(ref: MachineRef): Promise<Duplex> {
    const [stream] = await Promise.all([driver.connect(ref), harness.startAgent(ref)])
    return stream.on('error', () => {})
  }

  /** A rebooting guest refuses or breaks off streams for a while. */
  function talkWhenUp(ref: MachineRef): Promise<void> {
    return until(async () => {
      let stream: Duplex | undefined
      try {
        stream = await connect(ref)
        await harness.talk(ref, stream)
        return true
      } catch (error) {
        if (error instanceof DriverError && !error.retryable) throw error
        return false
      } finally {
        stream?.destroy()
      }
    })
  }
}

import { before, describe } from 'node:test'
import { testBrokenCaptures } from './broken-captures.ts'
import { testCaptures } from './captures.ts'
import { testDisks } from './disks.ts'
import { testEngine } from './engine.ts'
import { testFreezing } from './freezing.ts'
import { testLifecycle } from './lifecycle.ts'
import { testStreams } from './streams.ts'
import { openSuite, type DriverHarness } from './suite.ts'

/** The promises of a driver that the control plane relies on, whichever engine runs the machines. */
export function describeMachineDriver(name: string, makeHarness: () => Promise<DriverHarness>) {
  describe(`${name} keeps the promises of a machine driver`, () => {
    const suite = openSuite(makeHarness)
    testEngine(suite)
    // Each test has machines of its own and mostly waits for guests, so several run at a time.
    describe('machines', { concurrency: 3 }, () => {
      testLifecycle(suite)
      testStreams(suite)
      testCaptures(suite)
      testDisks(suite)
      testFreezing(suite)
    })
    testBrokenCaptures(suite)
  })
}

/** The promises of the streams alone, for another way to the agents. */
export function describeStreams(name: string, makeHarness: () => Promise<DriverHarness>) {
  describe(`${name} keeps the promises of streams`, () => {
    const suite = openSuite(makeHarness)
    before(async () => {
      const { driver, imageId, imageFiles } = suite.harness()
      await driver.addImage(imageId, imageFiles)
    })
    testStreams(suite)
  })
}

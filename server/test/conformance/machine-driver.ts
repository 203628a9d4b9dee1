import { describe } from 'node:test'
import { testCaptures } from './captures.ts'
import { testDisks } from './disks.ts'
import { testFreezing } from './freezing.ts'
import { testLifecycle } from './lifecycle.ts'
import { openSuite, type DriverHarness } from './suite.ts'

/** What the control plane relies on, whichever engine runs the machines. */
export function describeMachineDriver(name: string, makeHarness: () => Promise<DriverHarness>) {
  describe(`${name} keeps the promises of a machine driver`, () => {
    const suite = openSuite(makeHarness)
    testLifecycle(suite)
    testCaptures(suite)
    testDisks(suite)
    testFreezing(suite)
  })
}

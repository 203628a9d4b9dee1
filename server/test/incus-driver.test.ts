import { describeMachineDriver, describeStreams } from './conformance/machine-driver.ts'
import { makeIncusHarness } from './incus-harness.ts'

describeMachineDriver('the Incus driver', () => makeIncusHarness())
describeStreams('the Incus driver that reaches agents through the engine', () =>
  makeIncusHarness({ directAgents: false }),
)

import { testCrashes } from './crash/crash-steps.ts'
import { restoreOf } from './crash/restore.ts'

testCrashes(
  restoreOf({
    state: 'running',
    bring: async () => {},
    calls: ['guest.flush', 'driver.stop', 'driver.start', 'guest.setIdentity'],
    times: { started: 2, stopped: 1 },
  }),
)

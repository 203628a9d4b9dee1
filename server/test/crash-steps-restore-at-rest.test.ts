import { reconcileAll } from '../src/worker/reconcile.ts'
import { testCrashes } from './crash/crash-steps.ts'
import { restoreOf } from './crash/restore.ts'
import { onDisksOf } from './disks.ts'

testCrashes(
  restoreOf({
    state: 'stopped',
    bring: (server, id) => onDisksOf(server).move(id, 'stop'),
    calls: [],
    times: { started: 1, stopped: 1 },
  }),
)

testCrashes(
  restoreOf({
    state: 'error',
    bring: async (server, id) => {
      server.engine.controls.die({ id, generation: 1 })
      await reconcileAll(server.app)
    },
    calls: [],
    times: { started: 1, stopped: 1 },
  }),
)

import { waitingCommand } from '../../command.ts'
import { changeState } from './change-state.ts'

export const stopMachine = () =>
  waitingCommand('stop')
    .description('Shut down a running machine. Its disk is kept.')
    .argument('<machine>', 'machine ID or name')
    .option('--force', 'power off at once (default: only after a 30-second graceful shutdown)')
    .action(async (ref, { force, ...options }) =>
      changeState(ref, options, 'Stopping', async (machine, wait) =>
        machine.stop({ force, ...wait }),
      ),
    )

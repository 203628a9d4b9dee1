import { waitingCommand } from '../../command.ts'
import { changeState } from './change-state.ts'

export const restart = waitingCommand('restart')
  .description('Stop a running machine and start it again.')
  .argument('<machine>', 'machine ID or name')
  .action(async (ref, options) =>
    changeState(ref, options, 'Restarting', async (machine, wait) => machine.restart(wait)),
  )

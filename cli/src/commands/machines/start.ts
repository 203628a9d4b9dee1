import { waitingCommand } from '../../command.ts'
import { changeState } from './change-state.ts'

export const startMachine = () =>
  waitingCommand('start')
    .description('Boot a stopped machine from its disk and wait until it is running.')
    .argument('<machine>', 'machine ID or name')
    .action(async (ref, options) =>
      changeState(ref, options, 'Starting', async (machine, wait) => machine.start(wait)),
    )

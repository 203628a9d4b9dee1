import { connect, findMachine } from '../../client.ts'
import { clientCommand, timeoutFlag, waitFlag, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { stateOf } from './columns.ts'

export const restart = clientCommand('restart')
  .description('Stop a running machine and start it again.')
  .argument('<machine>', 'its id or name')
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await spin(`Restarting ${machine.name}`, () => machine.restart(waitOptions(options)))
    showDone(stateOf(machine), machine.data, options)
  })

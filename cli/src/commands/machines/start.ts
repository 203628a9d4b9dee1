import { connect, findMachine } from '../../client.ts'
import { clientCommand, timeoutFlag, waitFlag, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { stateOf } from './columns.ts'

export const start = clientCommand('start')
  .description('Boot a stopped machine from its disk, and wait until it runs.')
  .argument('<machine>', 'its id or name')
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await spin(`Starting ${machine.name}`, () => machine.start(waitOptions(options)))
    showDone(stateOf(machine), machine.data, options)
  })

import { connect, findMachine } from '../../client.ts'
import { clientCommand, timeoutFlag, waitFlag, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { stateOf } from './columns.ts'

export const stop = clientCommand('stop')
  .description('Shut a running machine down. Its disk is kept.')
  .argument('<machine>', 'its id or name')
  .option('--force', 'pull the plug; otherwise that follows after 30 seconds')
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const { force } = options
    await spin(`Stopping ${machine.name}`, () => machine.stop({ force, ...waitOptions(options) }))
    showDone(stateOf(machine), machine.data, options)
  })

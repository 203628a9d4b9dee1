import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showRecord } from '../../output.ts'
import { machineLines } from './columns.ts'

export const get = clientCommand('get')
  .description('Show all about a machine.')
  .argument('<machine>', 'its id or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    showRecord(machine.data, machineLines, options)
  })

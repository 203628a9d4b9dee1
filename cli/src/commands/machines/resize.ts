import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const resize = clientCommand('resize')
  .description('Change the size of a stopped machine. Its disk never shrinks.')
  .argument('<machine>', 'machine ID or name')
  .argument('<size>', 'new size, such as standard')
  .action(async (ref, size, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await machine.update({ size: size as 'small' })
    const { cpu, memoryMb, diskGb } = machine.data
    const resources = `${cpu} processors, ${memoryMb} MB of memory, ${diskGb} GB of disk`
    showDone(`${machine.name} is now ${machine.data.size}: ${resources}`, machine.data, options)
  })

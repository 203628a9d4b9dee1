import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const resize = clientCommand('resize')
  .description('Give a stopped machine another size. Its disk never shrinks.')
  .argument('<machine>', 'its id or name')
  .argument('<size>', 'such as standard')
  .action(async (ref, size, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await machine.update({ size: size as 'small' })
    const { cpu, memoryMb, diskGb } = machine.data
    const numbers = `${cpu} processors, ${memoryMb} MB of memory, ${diskGb} GB of disk`
    showDone(`${machine.name} is ${machine.data.size} now: ${numbers}`, machine.data, options)
  })

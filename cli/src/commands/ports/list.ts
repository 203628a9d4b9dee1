import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList } from '../../output.ts'
import { portColumns } from './columns.ts'

export const list = clientCommand('list')
  .alias('ls')
  .description('List published ports, newest first.')
  .argument('[machine]', 'only this machine: ID or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const { ports } = ref ? await findMachine(computer, ref) : computer
    const published = await ports.list({ limit: 100 }).all()
    const emptyMessage = 'No published ports. Publish one with `computer ports publish`.'
    showList(published, portColumns, { ...options, emptyMessage })
  })

import { connect, filtered, findMachine, one } from '../../client.ts'
import { clientCommand, parseCount } from '../../command.ts'
import { showDone } from '../../output.ts'

export const unpublish = clientCommand('unpublish')
  .description('Take the address of a port away. It is never given again.')
  .argument('<machine>', 'its id or name')
  .argument('<port>', 'the port in the machine', parseCount)
  .action(async (ref, port, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const published = filtered(machine.ports.list({ limit: 100 }), (each) => each.port === port)
    const preview = await one(published, `published port ${port}`, `ports list ${ref}`)
    await machine.ports.unpublish(preview.id)
    showDone(`port ${port} of ${machine.name} is not published any more`, preview, options)
  })

import { connect, filtered, findMachine, requireOne } from '../../client.ts'
import { clientCommand, parseCount } from '../../command.ts'
import { showDone } from '../../output.ts'

export const unpublish = clientCommand('unpublish')
  .description('Unpublish a port. Its URL is never reused.')
  .argument('<machine>', 'machine ID or name')
  .argument('<port>', 'port number in the machine', parseCount)
  .action(async (ref, port, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const published = filtered(machine.ports.list({ limit: 100 }), (each) => each.port === port)
    const preview = await requireOne(published, `published port ${port}`, `ports list ${ref}`)
    await machine.ports.unpublish(preview.id)
    showDone(`port ${port} of ${machine.name} is no longer published`, preview, options)
  })

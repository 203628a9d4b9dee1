import { connect, findMachine } from '../client.ts'
import { clientCommand, examples } from '../command.ts'
import { showDone } from '../output.ts'
import { spin } from '../progress.ts'

export const open = clientCommand('open')
  .description('Open a page in the browser on the desktop of a machine.')
  .argument('<machine>', 'machine ID or name')
  .argument('<url>', 'address of the page; localhost is the machine itself')
  .addHelpText('after', examples('computer open first https://example.com'))
  .action(async (ref, url, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await spin(`Opening ${url}`, () => machine.open(url))
    showDone(`${url} is open on ${machine.name}`, { machineId: machine.id, url }, options)
  })

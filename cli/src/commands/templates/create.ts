import { connect, findMachine, findSnapshot } from '../../client.ts'
import { examples, waitingCommand, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const create = waitingCommand('create')
  .description('Create a template from a machine, a snapshot or an image.')
  .argument('<name>', 'name to create machines by')
  .option('--description <text>', 'what the template is for')
  .option('--machine <machine>', 'capture this running machine now: ID or name')
  .option('--snapshot <snapshot>', 'use this snapshot: ID or name')
  .option('--image <id>', "without either: use this image (default: the server's)")
  .option('--size <size>', 'default size of machines created from it')
  .addHelpText(
    'after',
    examples(
      'computer templates create browser-tests --machine first',
      'computer machines create --template browser-tests',
    ),
  )
  .action(async (name, options) => {
    await using computer = await connect(options)
    const { description, image, size } = options
    const machine = options.machine && (await findMachine(computer, options.machine)).id
    const snapshot = options.snapshot && (await findSnapshot(computer, options.snapshot)).id
    const source = { machineId: machine, snapshotId: snapshot, imageId: image }
    const template = await spin(`Creating template ${name}`, () =>
      computer.templates.create(
        { name, description, size: size as 'small', ...source },
        waitOptions(options),
      ),
    )
    showDone(`${template.name} is ${template.state} (${template.id})`, template, options)
  })

import { connect, findMachine, findSnapshot } from '../../client.ts'
import { clientCommand, examples, timeoutFlag, waitFlag, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const create = clientCommand('create')
  .description('Make a template of a machine, of a snapshot, or of an image and a size.')
  .argument('<name>', 'by which machines are made from it')
  .option('--description <text>', 'what it is for')
  .option('--machine <machine>', 'capture this running machine now: its id or name')
  .option('--snapshot <snapshot>', 'stand on this snapshot: its id or name')
  .option('--image <id>', "with neither: this image (default: the server's)")
  .option('--size <size>', 'of machines made from it that name none')
  .addOption(waitFlag())
  .addOption(timeoutFlag())
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
    const template = await spin(`Making ${name}`, () =>
      computer.templates.create(
        { name, description, size: size as 'small', ...source },
        waitOptions(options),
      ),
    )
    showDone(`${template.name} is ${template.state} (${template.id})`, template, options)
  })

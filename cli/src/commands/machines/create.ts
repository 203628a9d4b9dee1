import { connect, findTemplate } from '../../client.ts'
import {
  clientCommand,
  collectPair,
  examples,
  timeoutFlag,
  waitFlag,
  waitOptions,
} from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const create = clientCommand('create')
  .description('Create a machine, and wait until it runs.')
  .argument('[name]', 'default: one is made up')
  .option('--size <size>', "how large it is (default: the template's, or small)")
  .option('--template <template>', 'begin from this template: its id or name')
  .option('--image <id>', 'begin from this image')
  .option('--region <region>', 'where it should be, if there is a choice')
  .option('--metadata <key=value>', 'something to remember; may be repeated', collectPair)
  .option('--no-start', 'leave it stopped')
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .addHelpText(
    'after',
    examples(
      'computer machines create first',
      'computer machines create --size large --template browser-tests --metadata owner=ci',
    ),
  )
  .action(async (name, options) => {
    await using computer = await connect(options)
    const { size, image, region, metadata, start } = options
    const template = options.template && (await findTemplate(computer, options.template)).id
    const wish = { name, size: size as 'small', imageId: image, region, metadata, start, template }
    const machine = await spin(`Creating ${name ?? 'a machine'}`, () =>
      computer.machines.create({ ...wish, ...waitOptions(options) }),
    )
    showDone(`${machine.name} is ${machine.state} (${machine.id})`, machine.data, options)
  })

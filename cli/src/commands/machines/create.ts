import { ApiError } from '@computer/sdk'
import { connect, findTemplate } from '../../client.ts'
import { collectPair, examples, waitingCommand, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const create = waitingCommand('create')
  .description('Create a machine and wait until it is running.')
  .argument('[name]', 'name (default: generated)')
  .option('--size <size>', "machine size (default: the template's, or small)")
  .option('--template <template>', 'create from this template: ID or name')
  .option('--image <id>', 'create from this image')
  .option('--region <region>', 'region to create it in')
  .option('--metadata <key=value>', 'metadata to store; may be repeated', collectPair)
  .option('--no-start', 'create it stopped')
  .option('--if-not-exists', 'use the machine of this name if there is one, and start it')
  .addHelpText(
    'after',
    examples(
      'computer machines create first',
      'computer machines create first --if-not-exists',
      'computer machines create --size large --template browser-tests --metadata owner=ci',
    ),
  )
  .action(async (name, options) => {
    if (options.ifNotExists && name === undefined)
      throw new ApiError('invalid_request', '--if-not-exists needs the name of the machine')
    await using computer = await connect(options)
    const { size, image, region, metadata, start } = options
    const template = options.template && (await findTemplate(computer, options.template)).id
    const input = { size: size as 'small', imageId: image, region, metadata, start, template }
    const whole = { ...input, ...waitOptions(options) }
    const machine = await spin(`Creating ${name ?? 'a machine'}`, () =>
      options.ifNotExists && name !== undefined
        ? computer.machines.getOrCreate(name, whole)
        : computer.machines.create({ ...whole, name }),
    )
    showDone(`${machine.name} is ${machine.state} (${machine.id})`, machine.data, options)
  })

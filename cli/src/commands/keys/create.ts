import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { writeJson } from '../../output.ts'

const scopes = [
  'machines:read',
  'machines:write',
  'machines:control',
  'snapshots:read',
  'snapshots:write',
  'templates:read',
  'templates:write',
  'sessions:read',
  'sessions:write',
  'ports:read',
  'ports:write',
  'secrets:write',
  'usage:read',
] as const

export const create = clientCommand('create')
  .description('Create an API key. Its secret is shown now and never again.')
  .argument('<name>', 'what it is for')
  .addOption(
    new Option('--scope <scope...>', 'what it may do').choices(scopes).makeOptionMandatory(),
  )
  .option('--expires <time>', 'when it ends, such as 2030-01-31', parseTime)
  .addHelpText(
    'after',
    `
The secret alone goes to standard output. A key never may more than whoever made it.
${examples('computer keys create ci --scope machines:write machines:control > ci.key')}`,
  )
  .action(async (name, options) => {
    await using computer = await connect(options)
    const wish = { name, scopes: [...options.scope], expiresAt: options.expires }
    const key = await computer.apiKeys.create(wish)
    if (options.json) return writeJson(key)
    console.error(`${key.name} (${key.id}). This is its secret, shown this once:`)
    console.log(key.secret)
  })

function parseTime(text: string): string {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new InvalidArgumentError('It is a date, such as 2030-01-31.')
  return new Date(time).toISOString()
}

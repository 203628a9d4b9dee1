import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { ApiKeyScope } from '@computer/sdk'
import { clientCommand, examples } from '../../command.ts'
import { writeJson } from '../../output.ts'
import { printable } from '../../text.ts'
import { connectAsPerson } from './manage.ts'

const scopes: Readonly<Record<ApiKeyScope, string>> = {
  'machines:read': 'reading',
  'machines:write': 'creating and deleting machines',
  'machines:control': 'starting, stopping and using machines',
  'snapshots:read': 'reading',
  'snapshots:write': 'taking and deleting snapshots',
  'templates:read': 'reading',
  'templates:write': 'creating and deleting templates',
  'sessions:read': 'reading',
  'sessions:write': 'opening and closing sessions',
  'ports:read': 'reading',
  'ports:write': 'publishing ports',
  'secrets:write': 'storing and deleting secrets',
  'usage:read': 'reading',
}
const allScopes = Object.keys(scopes) as ApiKeyScope[]

export const create = clientCommand('create')
  .description('Create an API key and print its secret, which cannot be read again.')
  .argument('<name>', 'name that people recognize the key by')
  .addOption(
    new Option('--scope <scope...>', 'what the key may change (default: all)').choices(allScopes),
  )
  .option(
    '--expires <date>',
    'when the key expires, such as 2030-01-31 (default: never)',
    parseDate,
  )
  .addHelpText(
    'after',
    `
Any key can read everything in its organization; the scopes allow changes:
${Object.entries(scopes)
  .filter(([, grants]) => grants !== 'reading')
  .map(([scope, grants]) => `  ${scope.padEnd(17)} ${grants}`)
  .join('\n')}
For a key that changes nothing, choose machines:read.

The secret alone is written to standard output, so that it can go into a file or a variable.
${examples(
  'computer keys create ci --scope machines:write machines:control > ci.key',
  'export COMPUTER_API_KEY=$(computer keys create laptop)',
)}`,
  )
  .action(async (name, options) => {
    await using computer = await connectAsPerson(options)
    const { scope = allScopes, expires: expiresAt } = options
    const key = await computer.apiKeys.create({ name, scopes: [...scope], expiresAt })
    if (options.json) return writeJson(key)
    console.error(printable(`Created ${key.name} (${key.id}). Its secret is shown only now:`))
    console.log(key.secret)
  })

function parseDate(text: string): string {
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return new Date(time).toISOString()
  throw new InvalidArgumentError('Expected a date such as 2030-01-31 or 2030-01-31T12:00:00Z.')
}

import { InvalidArgumentError } from '@commander-js/extra-typings'
import { clientCommand, examples } from '../../command.ts'
import { writeJson } from '../../output.ts'
import { printable } from '../../text.ts'
import { connectAsPerson } from './manage.ts'
import { allScopes, scopeFlag, scopesHelp } from './scopes.ts'

export const create = clientCommand('create')
  .description('Create an API key and print its secret, which cannot be read again.')
  .argument('<name>', 'name that people recognize the key by')
  .addOption(scopeFlag())
  .option(
    '--expires <date>',
    'when the key expires, such as 2030-01-31 (default: never)',
    parseDate,
  )
  .addHelpText(
    'after',
    `${scopesHelp}

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

import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { readFile } from 'node:fs/promises'
import { runAdmin } from './run.ts'

const show = new Command('show')
  .description(
    'Print the newest catalog of plans, sizes and prices, as the file that `apply` takes.',
  )
  .action(() => runAdmin({ command: 'catalog show' }, { json: true }))

const apply = new Command('apply')
  .description('Add a version of the catalog from a file.')
  .argument('<file>', 'JSON, as printed by `show` and then edited')
  .option(
    '--effective-at <time>',
    'when it takes effect, such as 2030-02-01T00:00:00Z; default: now',
  )
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
Versions are never changed. New machines have the sizes of the version in effect; limits,
allowances and prices of an organization change with its next billing period.`,
  )
  .action(async (file, { effectiveAt = null, json }) => {
    const catalog = parse(file, await readFile(file, 'utf8'))
    runAdmin({ command: 'catalog apply', catalog, effectiveAt }, { json })
  })

export const catalog = new Command('catalog')
  .description('Manage the catalog of plans, sizes and prices.')
  .addCommand(show)
  .addCommand(apply)

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ApiError('invalid_request', `${file} is not JSON: ${reason}`)
  }
}

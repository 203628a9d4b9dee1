import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { writeJson } from '../../output.ts'

export const portal = clientCommand('portal')
  .description('Print the page with the invoices, the means of payment and the subscription.')
  .action(async (options) => {
    await using computer = await connect(options)
    const page = await computer.billing.portal()
    if (options.json) return writeJson(page)
    process.stdout.write(`${page.url}\n`)
  })

import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { readConnection } from '../../config.ts'
import { writeJson } from '../../output.ts'

export const checkout = clientCommand('checkout')
  .description('Choose a plan, and print the page on which it is paid for.')
  .argument('<plan>', 'ID of the plan, as `computer plan --all` lists it')
  .addHelpText(
    'after',
    `
Open the page in a browser. An organization with a subscription changes it at once: a higher
plan is charged for the rest of the month, and a lower one begins with the next.
${examples('computer billing checkout pro')}`,
  )
  .action(async (planId, options) => {
    const { baseUrl } = await readConnection(options)
    await using computer = await connect(options)
    const page = await computer.billing.checkout({
      planId,
      successUrl: `${baseUrl.replace(/\/+$/, '')}/billing`,
    })
    if (options.json) return writeJson(page)
    process.stdout.write(`${page.url}\n`)
  })

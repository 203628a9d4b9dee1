import { Command } from '@commander-js/extra-typings'
import { openClient } from '../../client.ts'
import { profileFlag, urlFlag } from '../../command.ts'
import { readConnection, type ConnectionFlags } from '../../config.ts'

/** Somebody waits for the names at a prompt. */
const timeoutMs = 1000
const maxNames = 100
/** As the API restricts names, so that whatever answers, a shell gets nothing to interpret. */
const namePattern = /^[a-z0-9][a-z0-9-]{0,62}$/

/** Hidden: what the completion scripts call. Prints the names of machines, or nothing. */
export const machineNames = new Command('complete-machines')
  .description('Print the names of machines for the completion scripts.')
  .addOption(profileFlag())
  .addOption(urlFlag())
  .action(async (flags) => {
    const names = await readNames(flags).catch((): string[] => [])
    for (const name of names.filter((one) => namePattern.test(one))) console.log(name)
  })

async function readNames(flags: ConnectionFlags): Promise<string[]> {
  const computer = await openClient(await readConnection(flags), { maxRetries: 0 })
  const signal = AbortSignal.timeout(timeoutMs)
  const { data } = await computer.machines.list({ limit: maxNames, signal })
  return data.map(({ name }) => name)
}

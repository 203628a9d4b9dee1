import { Command } from '@commander-js/extra-typings'
import { readConfig } from '../../config.ts'
import { showList } from '../../output.ts'

export const list = new Command('list')
  .alias('ls')
  .description('List the profiles of this computer; keys are not shown.')
  .option('--json', 'print JSON')
  .action(async (options) => {
    const { current, profiles } = await readConfig()
    const all = Object.entries(profiles).map(([name, { base_url }]) => {
      return { name, baseUrl: base_url, current: name === current }
    })
    const columns = {
      name: ({ name }: (typeof all)[number]) => name,
      server: ({ baseUrl }: (typeof all)[number]) => baseUrl,
      current: ({ current: isCurrent }: (typeof all)[number]) => (isCurrent ? 'yes' : null),
    }
    showList(all, columns, { ...options, none: 'There are none. `computer login` makes one.' })
  })

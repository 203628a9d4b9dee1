import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { readConfig, writeConfig } from '../config.ts'
import { showList, type Columns } from '../output.ts'

type ListedProfile = {
  readonly name: string
  readonly baseUrl: string
  readonly current: boolean
}

const columns: Columns<ListedProfile> = {
  name: ({ name }) => name,
  server: ({ baseUrl }) => baseUrl,
  current: ({ current }) => (current ? 'yes' : null),
}

const list = new Command('list')
  .alias('ls')
  .description('List the saved profiles, without their keys.')
  .option('--json', 'print JSON')
  .action(async (options) => {
    const { current, profiles: saved } = await readConfig()
    const listed = Object.entries(saved).map(([name, { base_url }]) => {
      return { name, baseUrl: base_url, current: name === current }
    })
    const emptyMessage = 'No profiles. Create one with `computer login`.'
    showList(listed, columns, { ...options, emptyMessage })
  })

const use = new Command('use')
  .description('Make a profile the current one.')
  .argument('<name>')
  .action(async (name) => {
    const config = await readConfig()
    const profile = config.profiles[name]
    if (!profile) {
      const message = `profile "${name}" not found; list profiles with \`computer profiles list\``
      throw new ApiError('not_found', message)
    }
    await writeConfig({ ...config, current: name })
    console.log(`current profile: ${name} (${profile.base_url})`)
  })

export const profiles = new Command('profiles')
  .description('Switch between the servers and keys saved by `computer login`.')
  .addCommand(list)
  .addCommand(use)

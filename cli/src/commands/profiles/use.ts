import { ApiError } from '@computer/sdk'
import { Command } from '@commander-js/extra-typings'
import { readConfig, writeConfig } from '../../config.ts'

export const use = new Command('use')
  .description('Use a profile from now on.')
  .argument('<name>')
  .action(async (name) => {
    const config = await readConfig()
    const profile = config.profiles[name]
    if (!profile) {
      const message = `there is no profile ${name}: \`computer profiles list\` shows what there is`
      throw new ApiError('not_found', message)
    }
    await writeConfig({ ...config, current: name })
    console.log(`${name} (${profile.base_url}) is used from now on`)
  })

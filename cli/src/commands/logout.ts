import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { defaultProfile, readConfig, writeConfig } from '../config.ts'

export const logout = new Command('logout')
  .description('Forget a profile and its key. The key itself stays valid.')
  .option('--profile <name>', 'the profile (default: the current one)')
  .action(async ({ profile }) => {
    const { current, profiles } = await readConfig()
    const name = profile ?? current ?? defaultProfile
    if (!profiles[name]) throw new ApiError('not_found', `there is no profile ${name}`)
    const { [name]: _, ...others } = profiles
    const next = current === name ? (Object.keys(others)[0] ?? null) : current
    await writeConfig({ current: next, profiles: others })
    console.log(`${name} is forgotten${next ? `; ${next} is used from now on` : ''}`)
  })

import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { defaultProfile, readConfig, writeConfig } from '../config.ts'

export const logout = new Command('logout')
  .description('Remove a profile and its key from this computer. The key itself stays valid.')
  .option('--profile <name>', 'profile to remove (default: the current one)')
  .action(async ({ profile }) => {
    const { current, profiles } = await readConfig()
    const name = profile ?? current ?? defaultProfile
    if (!profiles[name]) throw new ApiError('not_found', `profile "${name}" not found`)
    const { [name]: _, ...others } = profiles
    const next = current === name ? (Object.keys(others)[0] ?? null) : current
    await writeConfig({ current: next, profiles: others })
    console.log(`removed profile ${name}${next ? `; current profile: ${next}` : ''}`)
  })

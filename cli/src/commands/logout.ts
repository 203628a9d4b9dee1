import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { openClient } from '../client.ts'
import {
  connectionOf,
  defaultProfile,
  readConfig,
  writeConfig,
  type Connection,
} from '../config.ts'

export const logout = new Command('logout')
  .description(
    'Remove a profile from this computer. A person is signed out; an API key stays valid.',
  )
  .option('--profile <name>', 'profile to remove (default: the current one)')
  .action(async ({ profile }) => {
    const { current, profiles } = await readConfig()
    const name = profile ?? current ?? defaultProfile
    const { [name]: removed, ...others } = profiles
    if (!removed) throw new ApiError('not_found', `profile "${name}" not found`)
    await signOut(connectionOf(removed, name))
    const next = current === name ? (Object.keys(others)[0] ?? null) : current
    await writeConfig({ current: next, profiles: others })
    console.log(`removed profile ${name}${next ? `; current profile: ${next}` : ''}`)
  })

/** A session that cannot be ended now expires 30 days after its last use. */
async function signOut(connection: Connection): Promise<void> {
  if (connection.session === null) return
  await using computer = await openClient(connection)
  await computer.auth.logOut().catch((error: Error) => {
    console.error(`warning: could not end the session: ${error.message}`)
  })
}

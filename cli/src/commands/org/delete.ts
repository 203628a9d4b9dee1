import { ApiError } from '@computer/sdk'
import { connect } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'
import { requirePerson } from '../account/person.ts'

export const deleteOrganization = clientCommand('delete')
  .description('Delete an organization that has no machines, snapshots or templates left.')
  .argument('<organization>', 'organization ID or name')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const { user, organizations } = await computer.me()
    requirePerson(user)
    const found = organizations.filter(({ id, name }) => id === ref || name === ref)
    const [organization] = found
    if (!organization) {
      const names = organizations.map(({ name }) => `"${name}"`).join(', ')
      throw new ApiError('not_found', `organization "${ref}" not found; yours are ${names}`)
    }
    if (found.length > 1) {
      const ids = found.map(({ id }) => id).join(', ')
      const message = `organization "${ref}" is ambiguous; use one of these IDs: ${ids}`
      throw new ApiError('conflict', message)
    }
    await confirm(`Delete the organization "${organization.name}" for all its members?`, options)
    await computer.organizations.delete(organization.id)
    showDone(`${organization.name} is deleted`, organization, options)
  })

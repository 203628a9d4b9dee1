import { Command } from '@commander-js/extra-typings'
import { deleteOrganization } from './delete.ts'

export const org = new Command('org')
  .description('Manage organizations that you own.')
  .addCommand(deleteOrganization)

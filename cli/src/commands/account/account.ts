import { Command } from '@commander-js/extra-typings'
import { deleteAccount } from './delete.ts'

export const account = new Command('account')
  .description('Manage your own account.')
  .addCommand(deleteAccount)

import { Command } from '@commander-js/extra-typings'
import { create } from './create.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'

export const keys = new Command('keys')
  .description('Create, list and revoke API keys of the organization.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(revoke)

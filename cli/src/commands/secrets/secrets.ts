import { Command } from '@commander-js/extra-typings'
import { deleteSecret } from './delete.ts'
import { list } from './list.ts'
import { set } from './set.ts'

export const secrets = new Command('secrets')
  .description('Manage write-only environment variables of machines.')
  .addCommand(set)
  .addCommand(list)
  .addCommand(deleteSecret)

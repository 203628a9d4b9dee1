import { Command } from '@commander-js/extra-typings'
import { deleteSecret } from './delete.ts'
import { list } from './list.ts'
import { set } from './set.ts'

export const secrets = new Command('secrets')
  .description('Variables of a machine that cannot be read back.')
  .addCommand(set)
  .addCommand(list)
  .addCommand(deleteSecret)

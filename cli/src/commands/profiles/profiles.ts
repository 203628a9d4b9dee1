import { Command } from '@commander-js/extra-typings'
import { list } from './list.ts'
import { use } from './use.ts'

export const profiles = new Command('profiles')
  .description('Choose between the servers and keys of `computer login`.')
  .addCommand(list)
  .addCommand(use)

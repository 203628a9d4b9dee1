import { Command } from '@commander-js/extra-typings'
import { kill } from './kill.ts'
import { list } from './list.ts'

export const terminals = new Command('terminals')
  .description('List and kill the terminals of a machine, which `computer shell` opens.')
  .addCommand(list)
  .addCommand(kill)

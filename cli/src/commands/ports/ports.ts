import { Command } from '@commander-js/extra-typings'
import { list } from './list.ts'
import { publish } from './publish.ts'
import { unpublish } from './unpublish.ts'

export const ports = new Command('ports')
  .description('Publish ports of machines, each at its own URL.')
  .addCommand(publish)
  .addCommand(list)
  .addCommand(unpublish)

import { Command } from '@commander-js/extra-typings'
import { create } from './create.ts'
import { deleteSnapshot } from './delete.ts'
import { get } from './get.ts'
import { list } from './list.ts'

export const snapshots = new Command('snapshots')
  .description('Captures of disks to go back to. `computer machines restore` does.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(get)
  .addCommand(deleteSnapshot)

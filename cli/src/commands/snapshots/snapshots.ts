import { Command } from '@commander-js/extra-typings'
import { findSnapshot } from '../../client.ts'
import { getCommand } from '../get.ts'
import { snapshotLines } from './columns.ts'
import { create } from './create.ts'
import { deleteSnapshot } from './delete.ts'
import { list } from './list.ts'

export const snapshots = new Command('snapshots')
  .description('Manage captured disks, which `computer machines restore` restores.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(getCommand('snapshot', findSnapshot, snapshotLines))
  .addCommand(deleteSnapshot)

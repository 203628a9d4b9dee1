import { Option } from '@commander-js/extra-typings'
import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList } from '../../output.ts'
import { snapshotColumns } from './columns.ts'

const origins = ['manual', 'stop', 'template'] as const

export const list = clientCommand('list')
  .alias('ls')
  .description('List snapshots, newest first.')
  .argument('[machine]', 'only this machine, even a deleted one: ID or name')
  .addOption(new Option('--origin <origin>', 'only snapshots of this origin').choices(origins))
  .action(async (ref, options) => {
    await using computer = await connect(options)
    // The snapshots of a deleted machine are found by its ID.
    const isName = ref !== undefined && !ref.startsWith('mch_')
    const machineId = isName ? (await findMachine(computer, ref)).id : ref
    const filter = { machineId, origin: options.origin, limit: 100 }
    const snapshots = await computer.snapshots.list(filter).all()
    const emptyMessage = 'No snapshots found. Take one with `computer snapshots create`.'
    showList(snapshots, snapshotColumns, { ...options, emptyMessage })
  })

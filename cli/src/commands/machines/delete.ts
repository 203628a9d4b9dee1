import type { Snapshot } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { waitingCommand, waitOptions, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { confirm } from '../../prompt.ts'
import { formatBytes } from '../../text.ts'

export const deleteMachine = waitingCommand('delete')
  .alias('rm')
  .description('Delete a machine and its disk. Its snapshots are kept, unless asked otherwise.')
  .argument('<machine>', 'machine ID or name')
  .option('--snapshots', 'delete its snapshots as well, the one of its last stop too')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const everything = options.snapshots ? ', its disk and its snapshots' : ' and its disk'
    await confirm(`Delete ${machine.name}${everything}?`, options)
    const snapshots = options.snapshots && 'delete'
    const kept = await spin(`Deleting ${machine.name}`, () =>
      machine.delete({ snapshots, ...waitOptions(options) }),
    )
    const sentence = `${machine.name} is ${options.wait ? 'deleted' : 'being deleted'}`
    showDone(sentence, { ...machine.data, keptSnapshots: kept }, options)
    if (kept.length > 0 && !options.json) console.error(describeKept(machine.id, kept))
  })

/** The snapshots that a deleted machine leaves: their size, and the commands that use or delete them. */
function describeKept(machineId: string, kept: readonly Snapshot[]): string {
  const [newest] = kept
  const bytes = kept.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0)
  const are = kept.length === 1 ? 'snapshot is' : 'snapshots are'
  return [
    `${kept.length} ${are} kept (${formatBytes(bytes)}):  computer snapshots list ${machineId}`,
    `Use one for new machines:     computer templates create NAME --snapshot ${newest!.id}`,
    `Delete them, newest first:    computer snapshots delete ${newest!.id}`,
  ].join('\n')
}

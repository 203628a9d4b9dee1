import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

/* Backups of the server on this host, and its restore. */

export const backup = new Command('backup')
  .description('Back up the server on this host, which goes on running, to a folder.')
  .argument('<folder>', 'folder on another disk; it holds any number of backups')
  .option('--full', 'store whole disks, not what differs from the backup before')
  .option('--keep <number>', 'keep this many backups, and remove the oldest others', parseCount)
  .option('--without-keyring', "leave out the keys that decrypt the machines' secrets")
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
The first backup is a full one. Later ones add what has changed since. The folder has
everything that is on the server, so only root can enter it.`,
  )
  .action((folder, { full, keep, withoutKeyring, json }) =>
    becomeServerProgram('main-backup.ts', [
      JSON.stringify({
        command: 'backup',
        folder,
        full: full ?? false,
        keep: keep ?? null,
        keyring: !withoutKeyring,
        json: json ?? false,
      }),
    ]),
  )

export const backups = new Command('backups')
  .description('List the backups in a folder, the oldest first.')
  .argument('<folder>', 'folder of `computer backup`')
  .option('--json', 'print the result as JSON')
  .action((folder, { json }) =>
    becomeServerProgram('main-backup.ts', [
      JSON.stringify({ command: 'list', folder, json: json ?? false }),
    ]),
  )

export const restore = new Command('restore')
  .description('Make the server of a backup in an empty data folder.')
  .argument('<folder>', 'folder of `computer backup`')
  .option('--backup <id>', 'an earlier backup, as listed by `computer backups` (default: the last)')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
Then \`computer up\` starts the server. Machines that ran at the time of the backup start
again with it. An external database (DATABASE_URL) must be empty.`,
  )
  .action((folder, options) =>
    becomeServerProgram('main-restore.ts', [
      JSON.stringify({ folder, backup: options.backup, json: options.json ?? false }),
    ]),
  )

function parseCount(text: string): number {
  const count = Number(text)
  if (Number.isSafeInteger(count) && count >= 1) return count
  throw new InvalidArgumentError('it must be a number from 1.')
}

import type { Backup } from './index-file.ts'

/* Backups as `computer` shows them to people and to scripts. */

export function summarize(backup: Backup) {
  const { id, created_at, added_bytes, keyring, machines, captures, missing } = backup
  return {
    id,
    created_at,
    added_bytes,
    with_keyring: keyring !== null,
    machines: machines.length,
    captures: captures.length,
    missing,
  }
}

export function describeBackup(backup: Backup, folder: string): string {
  const { id, added_bytes, machines, captures, missing } = backup
  const lines = [
    `backup ${id} is in ${folder}: ${machines.length} machines, ${captures.length} snapshots and templates, ${formatMb(added_bytes)} added`,
    ...missing.map((lost) => `the engine has no disk of ${lost}, so it is not in the backup`),
  ]
  return `${lines.join('\n')}\n`
}

export function tabulate(backups: readonly Backup[]): string {
  if (backups.length === 0) return 'no backups\n'
  const rows = backups.map(({ id, created_at, added_bytes, machines, captures }) => [
    id,
    created_at,
    formatMb(added_bytes),
    String(machines.length),
    String(captures.length),
  ])
  const table = [['BACKUP', 'MADE', 'ADDED', 'MACHINES', 'SNAPSHOTS'], ...rows]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  const format = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return `${table.map(format).join('\n')}\n`
}

function formatMb(bytes: number): string {
  return bytes < 10_000_000 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e6)} MB`
}

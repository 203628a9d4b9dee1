import { readFile, rm, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { execFile } from 'node:child_process'
import { replaceFile } from '../../replace-file.ts'
import { lxcfsCommand, lxcfsMountPoint } from '../engine-lxcfs.ts'
import { findProcesses } from '../find-processes.ts'
import { isOwnLauncher, launcherLink } from '../launcher.ts'
import { endProcess, identifyProcess } from '../process-record.ts'
import { removeEmptyTables } from './network.ts'

/** The line that the set-up adds for root (scripts/setup/host.sh). */
const idRange = 'root:1000000:1000000000'

/** The files that the set-up has changed. Tests put others in their place. */
export const setUpFiles = { idFiles: ['/etc/subuid', '/etc/subgid'], launcher: launcherLink }

/** Removes what all servers of a host share. For a host without another one. Resolves to what it removed. */
export async function removeShared(): Promise<readonly string[]> {
  const lxcfs = (await endLxcfs()) ? [`lxcfs and its mount ${lxcfsMountPoint}`] : []
  const tables = (await removeEmptyTables()).map((table) => `the nftables table ${table}`)
  return [...lxcfs, ...tables, ...(await undoSetUp())]
}

/** Removes what the set-up has added to files of the host. Resolves to what it removed. */
export async function undoSetUp(files = setUpFiles): Promise<readonly string[]> {
  const removed: string[] = []
  for (const path of files.idFiles) {
    if (await removeIdRange(path)) removed.push(`the line ${idRange} of ${path}`)
  }
  if (isOwnLauncher(files.launcher)) {
    await rm(files.launcher)
    removed.push(files.launcher)
  }
  return removed
}

/** The same line of somebody else cannot be told from that of the set-up. */
async function removeIdRange(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const lines = text.split('\n')
  const kept = lines.filter((line) => line !== idRange)
  if (kept.length === lines.length) return false
  const { mode } = await stat(path)
  await replaceFile(path, kept.join('\n'), { isDurable: true, mode: mode & 0o777 })
  return true
}

/** An lxcfs that the service of Debian runs has another command line, and stays. */
async function endLxcfs(): Promise<boolean> {
  const command = lxcfsCommand.join('\0')
  const [pid] = await findProcesses(
    (args) => args.join('\0') === command,
    (path) => path.includes('/lxcfs'),
  )
  const record = pid === undefined ? null : identifyProcess(pid)
  if (record === null) return false
  await promisify(execFile)('umount', [lxcfsMountPoint])
  await endProcess(record, { signal: 'SIGTERM', graceMs: 5_000 })
  return true
}

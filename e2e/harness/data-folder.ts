import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  isAlive,
  readRecord,
  recordProcess,
  sendSignal,
} from '../../server/src/host/process-record.ts'
import { networkName } from '../../server/src/process.ts'
import { removeEngine } from './engine-daemon.ts'

/** Data folders of tests are `/var/tmp/computer-e2e-NAME-…`. */
const parent = '/var/tmp'
const prefix = 'computer-e2e-'
const ownerName = 'owner'

/**
 * Makes a data folder that belongs to this process, after it has removed the folders, engines and
 * processes of test runs that were killed.
 */
export async function makeDataDir(name: string): Promise<string> {
  await removeStaleDataDirs()
  const dataDir = await mkdtemp(join(parent, `${prefix}${name}-`))
  await claim(dataDir)
  return dataDir
}

async function removeStaleDataDirs(): Promise<void> {
  for (const entry of await readdir(parent)) {
    if (!entry.startsWith(prefix)) continue
    const dataDir = join(parent, entry)
    if (!(await inherit(dataDir))) continue
    await killServices(dataDir)
    await removeEngine(dataDir, networkName(dataDir))
  }
}

/**
 * Claims the folder of an owner that ended. Test files start at the same time, and only one of them
 * succeeds the same owner. A folder whose owner is not recorded yet has just been made.
 */
async function inherit(dataDir: string): Promise<boolean> {
  const owner = readRecord(dataDir, ownerName)
  if (owner === null || isAlive(owner)) return false
  const marker = join(dataDir, `successor-of-${owner.pid}-${owner.startedAt}`)
  const isFirst = await writeFile(marker, '', { flag: 'wx' }).then(
    () => true,
    () => false,
  )
  if (isFirst) await claim(dataDir)
  return isFirst
}

function claim(dataDir: string): Promise<void> {
  return recordProcess(dataDir, ownerName, process.pid)
}

/** Kills the supervisor first, because it would restart the others. */
async function killServices(dataDir: string): Promise<void> {
  const runDir = join(dataDir, 'run')
  const lock = await readFile(join(runDir, 'server.lock'), 'utf8').catch(() => '')
  const supervisor = lock === '' ? null : (JSON.parse(lock) as { pid: number }).pid
  if (supervisor !== null && (await readEnvironment(supervisor)).includes(dataDir)) {
    sendSignal(supervisor, 'SIGKILL')
  }
  for (const name of await readdir(runDir).catch(() => [])) {
    const record = name.endsWith('.pid') ? readRecord(runDir, name.slice(0, -'.pid'.length)) : null
    if (record && isAlive(record)) sendSignal(record.pid, 'SIGKILL')
  }
}

function readEnvironment(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
}

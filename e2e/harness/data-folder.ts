import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  identifyProcess,
  isAlive,
  sendSignal,
  type ProcessRecord,
} from '../../server/src/host/process-record.ts'
import { networkName } from '../../server/src/process.ts'
import { replaceFile } from '../../server/src/replace-file.ts'
import { removeEngine } from './engine-daemon.ts'

/** Data folders of tests are `/var/tmp/computer-e2e-NAME-…`. */
const parent = '/var/tmp'
const prefix = 'computer-e2e-'
const ownerFile = 'owner.json'

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
  const text = await readFile(join(dataDir, ownerFile), 'utf8').catch(() => undefined)
  if (text === undefined) return false
  const owner = JSON.parse(text) as ProcessRecord
  if (isAlive(owner)) return false
  const marker = join(dataDir, `successor-of-${owner.pid}-${owner.startedAt}`)
  const isFirst = await writeFile(marker, '', { flag: 'wx' }).then(
    () => true,
    () => false,
  )
  if (isFirst) await claim(dataDir)
  return isFirst
}

function claim(dataDir: string): Promise<void> {
  const record = JSON.stringify(identifyProcess(process.pid))
  return replaceFile(join(dataDir, ownerFile), record, { isDurable: false })
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
    if (!name.endsWith('.pid')) continue
    const record = JSON.parse(await readFile(join(runDir, name), 'utf8')) as ProcessRecord
    if (isAlive(record)) sendSignal(record.pid, 'SIGKILL')
  }
}

function readEnvironment(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
}

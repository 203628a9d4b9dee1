import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/*
 * The worker is ready once it has compared all machines with the engine: before, a machine that was stopped
 * together with its host is still `running`, and a start of it does nothing. The worker serves nothing that
 * could be asked, so it leaves a file.
 */

export async function markWorkerReady(dataDir: string): Promise<void> {
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 })
  await writeFile(pathOf(dataDir), '')
}

/** Called before each start of a worker. */
export async function forgetWorkerReady(dataDir: string): Promise<void> {
  await rm(pathOf(dataDir), { force: true })
}

export async function findWorkerDelay(dataDir: string): Promise<string | null> {
  return existsSync(pathOf(dataDir)) ? null : 'it is looking at the state of the machines'
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'run', 'worker.ready')
}

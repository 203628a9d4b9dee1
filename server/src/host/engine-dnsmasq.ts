import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { engineDirectory } from './engine.ts'

/**
 * Ends the name servers of an engine that runs no more. The daemon starts one for its network and notes
 * its process id after that: killed in between, it leaves one that the next daemon does not know, that
 * holds the port, and without which the network stays down for a minute and no machine starts.
 */
export async function endNameServers(dataDir: string): Promise<void> {
  while (true) {
    const pids = await findNameServers(join(engineDirectory(dataDir), 'networks'))
    if (pids.length === 0) return
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended while we looked.
      }
    }
    await sleep(10)
  }
}

/** Known by the program and by the engine's own files among its arguments. */
async function findNameServers(folder: string): Promise<number[]> {
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const args = (await readFile(`/proc/${entry}/cmdline`, 'utf8')).split('\0')
      if (!args.some((arg) => arg.includes(`=${folder}/`))) continue
      if (/\/dnsmasq( |$)/.test(await readlink(`/proc/${entry}/exe`))) found.push(Number(entry))
    } catch {
      // It ended while we looked.
    }
  }
  return found
}

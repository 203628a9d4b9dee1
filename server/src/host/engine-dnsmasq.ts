import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { engineDirectory } from './engine.ts'
import { findProcesses } from './find-processes.ts'

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
function findNameServers(folder: string): Promise<number[]> {
  return findProcesses(
    (args) => args.some((arg) => arg.includes(`=${folder}/`)),
    (path) => /\/dnsmasq( |$)/.test(path),
  )
}

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { engineDirectory } from './engine.ts'
import { findProcesses } from './find-processes.ts'

/**
 * Kills the name servers of an engine that is not running. The daemon starts one for its network and
 * records its process id afterwards. If it is killed in between, the next daemon does not know of the
 * name server that holds the port, and no machine can start for a minute.
 */
export async function killNameServers(dataDir: string): Promise<void> {
  while (true) {
    const pids = await findNameServers(join(engineDirectory(dataDir), 'networks'))
    if (pids.length === 0) return
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has just ended by itself.
      }
    }
    await sleep(10)
  }
}

/** Recognized by the program and by the engine's own files among its arguments. */
function findNameServers(folder: string): Promise<number[]> {
  return findProcesses(
    (args) => args.some((arg) => arg.includes(`=${folder}/`)),
    (path) => /\/dnsmasq( |$)/.test(path),
  )
}

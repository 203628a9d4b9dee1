import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 3
const patienceMs = 2_000

/**
 * Resolves when `/tmp` has been emptied for this boot: what a caller writes there must stay. The image's init
 * does so before the agent starts. On a disk from an older image it is systemd-tmpfiles, maybe after the agent
 * can be reached: it first removes, and then makes files such as `/run/utmp`. A machine without systemd,
 * or without that file, is not waited for for long.
 */
export async function foldersCleaned(rootPath: string): Promise<void> {
  if (existsSync(join(rootPath, 'usr/lib/computer/init'))) return
  if (!existsSync(join(rootPath, 'run/systemd/private'))) return
  const deadline = performance.now() + patienceMs
  while (!existsSync(join(rootPath, 'run/utmp')) && performance.now() < deadline) {
    await sleep(pollMs)
  }
}

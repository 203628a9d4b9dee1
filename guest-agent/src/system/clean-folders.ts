import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 3
const patienceMs = 2_000

/**
 * Resolves when systemd-tmpfiles has emptied `/tmp` for this boot, which may be after the agent can be
 * reached: what a caller writes there must stay. It first removes, and then makes files such as
 * `/run/utmp`. A machine without systemd, or without that file, is not waited for for long.
 */
export async function foldersCleaned(rootPath: string): Promise<void> {
  if (!existsSync(join(rootPath, 'run/systemd/private'))) return
  const deadline = performance.now() + patienceMs
  while (!existsSync(join(rootPath, 'run/utmp')) && performance.now() < deadline) {
    await sleep(pollMs)
  }
}

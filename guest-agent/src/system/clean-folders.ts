import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hasImageInit } from './image-init.ts'
import { waitForFile } from './wait-for-file.ts'

/**
 * Resolves when `/tmp` has been emptied for this boot: what a caller writes there must stay. The image's init
 * does so before the agent starts. On a disk from an older image it is systemd-tmpfiles, maybe after the agent
 * can be reached: it first removes, and then makes files such as `/run/utmp`. A machine without systemd,
 * or without that file, is not waited for for long.
 */
export async function foldersCleaned(rootPath: string): Promise<void> {
  if (hasImageInit(rootPath)) return
  if (!existsSync(join(rootPath, 'run/systemd/private'))) return
  await waitForFile(join(rootPath, 'run/utmp'))
}

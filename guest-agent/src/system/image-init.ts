import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Whether the disk has the image's init, which starts the agent before systemd. Disks of older images lack it. */
export function hasImageInit(rootPath: string): boolean {
  return existsSync(join(rootPath, 'usr/lib/computer/init'))
}

import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The control files of FUSE connections. Each belongs to the user that mounted the file system. */
const connections = '/sys/fs/fuse/connections'

/**
 * Aborts the FUSE connections of the users of a machine. A killed process that waits for a file system
 * which it serves itself never ends otherwise.
 */
export async function abortFuse(uidBase: number): Promise<void> {
  for (const name of await readdir(connections).catch(() => [])) {
    const path = join(connections, name, 'abort')
    try {
      const { uid } = await stat(path)
      if (uid >= uidBase && uid < uidBase + 65_536) await writeFile(path, '1')
    } catch {
      // The connection has just ended by itself.
    }
  }
}

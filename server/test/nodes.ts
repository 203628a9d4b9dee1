import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/**
 * The versions of Node that a user of the clients may have, each as the folder of its program: the host's
 * own, which the README allows to be as old as 20, and the one that runs the server.
 */
export async function nodesUnderTest(): Promise<readonly { name: string; dir: string }[]> {
  const own = { name: `Node ${process.version}`, dir: dirname(process.execPath) }
  const host = await findHostNode()
  if (host === null) return [own]
  const { stdout } = await promisify(execFile)(join(host, 'node'), ['--version'])
  return stdout.trim() === process.version
    ? [own]
    : [{ name: `Node ${stdout.trim()}`, dir: host }, own]
}

/** The folder of the first Node in the PATH that is not of a checkout. */
export async function findHostNode(): Promise<string | null> {
  const folders = (process.env['PATH'] ?? '')
    .split(':')
    .filter((dir) => !dir.includes('node_modules'))
  for (const dir of folders) {
    const isThere = await access(join(dir, 'node')).then(
      () => true,
      () => false,
    )
    if (isThere) return dir
  }
  return null
}

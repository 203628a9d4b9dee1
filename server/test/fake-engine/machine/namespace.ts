import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repositoryPath = fileURLToPath(new URL('../../../../', import.meta.url))
const scriptPath = fileURLToPath(new URL('root.sh', import.meta.url))
const compileCachePath =
  process.env['NODE_COMPILE_CACHE'] ?? join(repositoryPath, '.cache', 'compiled')

/**
 * Starts a command as root in a root folder, process tree and host name of its own. It and all that it
 * starts are killed with the child, and the child with this process, even when this process is killed.
 */
export function spawnInRoot(
  rootPath: string,
  command: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  mkdirSync(compileCachePath, { recursive: true })
  const unshare = ['unshare', '--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child']
  const paths = [rootPath, repositoryPath, realpathSync(process.execPath), compileCachePath]
  return spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', ...unshare, 'sh', scriptPath, ...paths, ...command],
    { ...options, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
  )
}

/** The repository and Node, as a command finds them in its root folder. */
export const inRoot = {
  nodePath: '/opt/computer/node',
  compileCachePath: '/opt/computer/compiled',
  repositoryPath: '/opt/computer/repository',
} as const

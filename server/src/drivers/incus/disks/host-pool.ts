import { execFile } from 'node:child_process'
import { access, chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EngineConfig } from '../engine-config.ts'

const run = promisify(execFile)

/** A pool that is mounted on this host with simple quotas, so that its disks can be measured. */
export type HostPool = {
  readonly folder: string
  readonly project: string
  /** The folder of its file system in /sys/fs/btrfs. */
  readonly sysfsFolder: string
}

/** Undefined where the pool is on another host, or without simple quotas. */
export async function openHostPool(
  config: Partial<EngineConfig> & Pick<EngineConfig, 'pool' | 'project'>,
): Promise<HostPool | undefined> {
  const { engineDir, pool, project } = config
  if (engineDir === undefined) return undefined
  const folder = poolFolder(engineDir, pool)
  const sysfsFolder = await findSysfsFolder(folder)
  if ((await readQuotaMode(sysfsFolder)) !== 'squota') return undefined
  return { folder, project, sysfsFolder }
}

export function poolFolder(engineDir: string, pool: string): string {
  return join(engineDir, 'storage-pools', pool)
}

export async function findSysfsFolder(folder: string): Promise<string> {
  return join('/sys/fs/btrfs', await readMount(folder, 'UUID'))
}

/**
 * Guests see the same files of the kernel, which tell how full each disk is and, of a pool in a file, the
 * path of that file. The mode applies to all of them, because no user of a guest is a user of the host.
 */
export async function hideFromGuests(folder: string): Promise<void> {
  await chmod(await findSysfsFolder(folder), 0o700)
  const [, loop] = /^\/dev\/(loop\d+)$/.exec(await readMount(folder, 'SOURCE')) ?? []
  if (loop !== undefined) await chmod(`/sys/block/${loop}/loop`, 0o700)
}

async function readMount(folder: string, column: 'UUID' | 'SOURCE'): Promise<string> {
  const { stdout } = await run('findmnt', ['-n', '-o', column, '--target', folder])
  return stdout.trim()
}

export function readQuotaMode(sysfsFolder: string): Promise<string> {
  // The file exists only while quotas are enabled.
  return readFile(join(sysfsFolder, 'qgroups', 'mode'), 'utf8').then(
    (text) => text.trim(),
    () => 'none',
  )
}

/** The subvolume that is an instance's disk. */
export function diskFolder(pool: HostPool, instance: string): string {
  return join(pool.folder, 'containers', storageName(pool.project, instance))
}

/** The name that the engine gives an instance in the file system, in cgroups and in links. */
export function storageName(project: string, instance: string): string {
  return project === 'default' ? instance : `${project}_${instance}`
}

export function instanceOf(project: string, name: string): string | undefined {
  if (project === 'default') return name
  return name.startsWith(`${project}_`) ? name.slice(project.length + 1) : undefined
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EngineConfig } from '../engine-config.ts'

const run = promisify(execFile)

/** The pool as this host has it mounted, with simple quotas: there disks can be measured. */
export type HostPool = {
  readonly folder: string
  readonly project: string
  /** Where the kernel tells of its file system. */
  readonly kernelFolder: string
}

/** Undefined where the pool is on another host, or without simple quotas. */
export async function openHostPool(
  config: Partial<EngineConfig> & Pick<EngineConfig, 'pool' | 'project'>,
): Promise<HostPool | undefined> {
  const { engineDir, pool, project } = config
  if (engineDir === undefined) return undefined
  const folder = poolFolder(engineDir, pool)
  const kernelFolder = await findKernelFolder(folder)
  if ((await readQuotaMode(kernelFolder)) !== 'squota') return undefined
  return { folder, project, kernelFolder }
}

export function poolFolder(engineDir: string, pool: string): string {
  return join(engineDir, 'storage-pools', pool)
}

export async function findKernelFolder(folder: string): Promise<string> {
  const { stdout } = await run('findmnt', ['-n', '-o', 'UUID', '--target', folder])
  return join('/sys/fs/btrfs', stdout.trim())
}

export function readQuotaMode(kernelFolder: string): Promise<string> {
  // The folder is there while quotas are on.
  return readFile(join(kernelFolder, 'qgroups', 'mode'), 'utf8').then(
    (text) => text.trim(),
    () => 'none',
  )
}

/** The subvolume that is an instance's disk. */
export function diskFolder(pool: HostPool, instance: string): string {
  return join(pool.folder, 'containers', storageName(pool.project, instance))
}

/** What the engine calls an instance outside of its own books. */
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

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync } from 'node:fs'
import {
  cp,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { createIncusDriver, type IncusOptions } from '../../server/src/drivers/incus/driver.ts'
import { engineDirectory, engineSocketPath } from '../../server/src/host/engine.ts'
import { removeNetwork, removeProject, spawnEngine, stopDaemon } from './engine-daemon.ts'
import { imageDir, imageFiles } from './machine-image.ts'

const run = promisify(execFile)

/*
 * Unpacking the machine image into a new pool takes an engine some 16 s of both cores. So the folder of
 * an engine that did it once is kept beside the image in the cache, and the engines of tests start from a
 * copy of it: with a pool and the image, without a network, project or machine.
 *
 * The name of a template is a hash of its ingredients. The two most recently used ones stay, so that
 * switching between two branches is cheap.
 */

/** The size of every pool that begins as a copy. */
export const templatePoolGib = 30

/** Puts a copy of the template into a data folder whose engine was never started. Takes about 2 s. */
export async function copyEngineTemplate(dataDir: string): Promise<void> {
  const template = await ensureTemplate()
  const engineDir = engineDirectory(dataDir)
  await mkdir(engineDir, { recursive: true, mode: 0o711 })
  for (const name of await readdir(template)) {
    if (name === 'images' || name === 'disks') continue
    await cp(join(template, name), join(engineDir, name), { recursive: true })
  }
  await mkdir(join(engineDir, 'images'), { mode: 0o700 })
  for (const name of await readdir(join(template, 'images'))) {
    await linkOrCopy(join(template, 'images', name), join(engineDir, 'images', name))
  }
  const pool = join(engineDir, 'disks', 'default.img')
  await mkdir(join(engineDir, 'disks'), { mode: 0o700 })
  await run('cp', ['--sparse=auto', '--reflink=auto', join(template, 'disks/default.img'), pool])
  // Two mounted file systems must not have the same id. Without -f, btrfstune refuses a file.
  await run('btrfstune', ['-f', '-m', pool])
  // The daemon runs this once, before it reads its pools.
  await writeFile(
    join(engineDir, 'database', 'patch.global.sql'),
    `UPDATE storage_pools_config SET value='${pool}' WHERE value LIKE '%/disks/default.img';\n`,
  )
}

async function ensureTemplate(): Promise<string> {
  const template = join(imageDir, `engine-${await hashIngredients()}`)
  const now = new Date()
  if (existsSync(template)) {
    await utimes(template, now, now)
    return template
  }
  await mkdir(imageDir, { recursive: true })
  // Test files start side by side: one makes the template, the others wait for it.
  const maker = fileURLToPath(new URL('make-engine-template.ts', import.meta.url))
  const lock = join(imageDir, '.engine-template.lock')
  await run('flock', [lock, process.execPath, maker, template], { timeout: 300_000 })
  return template
}

/** Makes the template, unless another process did meanwhile. */
export async function makeEngineTemplate(template: string): Promise<void> {
  if (existsSync(template)) return
  await removeOldTemplates()
  const dataDir = await mkdtemp(join(imageDir, '.making-'))
  const network = `ct${createHash('sha256').update(dataDir).digest('hex').slice(0, 10)}`
  await spawnEngine(dataDir)
  try {
    const access = { socketPath: engineSocketPath(dataDir) }
    const engineDir = engineDirectory(dataDir)
    await unpackImage({ access, engineDir, poolSizeGib: templatePoolGib, network })
    using client = new IncusClient(access)
    await removeNetwork(client, network)
  } finally {
    await stopDaemon(dataDir)
  }
  const engineDir = engineDirectory(dataDir)
  for (const name of await readdir(engineDir)) {
    if (!keptFolders.includes(name)) await rm(join(engineDir, name), { recursive: true })
  }
  await rename(engineDir, template)
  await rm(dataDir, { recursive: true })
}

/** Puts the image into the pool of an engine, under no name: each server registers it under an id of its own. */
export async function unpackImage(options: IncusOptions): Promise<void> {
  const project = 'template'
  await using driver = createIncusDriver({ ...options, project })
  await driver.prepare()
  const imageId = 'img_0000000000000000000template'
  await driver.addImage(imageId, imageFiles)
  using client = new IncusClient(options.access)
  await client.change('DELETE', `/1.0/images/aliases/${imageId}`)
  await removeProject(client, project)
}

async function removeOldTemplates(): Promise<void> {
  const names = (await readdir(imageDir)).filter((name) => name.startsWith('engine-'))
  const paths = names.map((name) => join(imageDir, name))
  const used = await Promise.all(
    paths.map(async (path) => [(await stat(path)).mtimeMs, path] as const),
  )
  const old = used.sort(([a], [b]) => b - a).slice(1)
  for (const [, path] of old) await rm(path, { recursive: true })
}

/** Every start of the daemon creates the other folders. */
const keptFolders = ['database', 'disks', 'images', 'server.crt', 'server.key']

/** Hashes the versions of the programs that make a template, and the driver's source. */
async function hashIngredients(): Promise<string> {
  const hash = createHash('sha256')
  const { stdout } = await run('dpkg-query', ['-W', 'incus-base', 'btrfs-progs'])
  hash.update(stdout)
  const driver = fileURLToPath(new URL('../../server/src/drivers/incus/', import.meta.url))
  for (const path of globSync(`${driver}**/!(*.test).ts`).sort()) hash.update(await readFile(path))
  return hash.digest('hex').slice(0, 16)
}

/** The engine replaces these files and never writes into one, so engines can share them. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => cp(from, to))
}

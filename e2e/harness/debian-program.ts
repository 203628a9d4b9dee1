import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cacheDir = fileURLToPath(new URL('../../.cache/debian/', import.meta.url))

/**
 * The path of a program of a Debian package, which is unpacked into the cache of the checkout once. It is not
 * installed, because the package would start a service on this host.
 */
export async function unpackProgram(packageName: string, path: string): Promise<string> {
  const folder = join(cacheDir, packageName)
  if (!existsSync(folder)) await unpack(packageName, folder)
  return join(folder, path)
}

async function unpack(packageName: string, folder: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true })
  const work = await mkdtemp(join(cacheDir, '.unpacking-'))
  try {
    const download = () => run('apt-get', ['download', packageName], { cwd: work })
    // A host that has just been set up may have no lists of packages, and apt refuses a second update at a time.
    await download().catch(async () => {
      await run('flock', [join(cacheDir, '.updating'), 'apt-get', 'update'])
      return download()
    })
    const [file] = await readdir(work)
    await run('dpkg-deb', ['--extract', join(work, file!), join(work, 'unpacked')])
    // Another test file may have been faster.
    await rename(join(work, 'unpacked'), folder).catch((error: Error) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

import { createHash } from 'node:crypto'
import { glob, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/*
 * A built folder with a stamp: the hash of all that it was built from. It is built again only when a source
 * has changed, and replaced as a whole, so that no reader sees half of it.
 */
const stampFile = '.sources'

/** Builds `outDir` with `build`, which fills the empty folder it gets. Two builds at once do no harm. */
export async function buildStamped(
  outDir: string,
  stamp: string,
  build: (folder: string) => Promise<void>,
): Promise<void> {
  if (await isStamped(outDir, stamp)) return
  await mkdir(dirname(outDir), { recursive: true })
  const work = await mkdtemp(`${outDir}-`)
  try {
    const done = join(work, 'done')
    await mkdir(done)
    await build(done)
    await writeFile(join(done, stampFile), stamp)
    await rm(outDir, { recursive: true, force: true })
    await rename(done, outDir)
  } catch (error) {
    // Another build of the same sources was faster.
    if (!(await isStamped(outDir, stamp))) throw error
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

export async function isStamped(outDir: string, stamp: string): Promise<boolean> {
  return (await readFile(join(outDir, stampFile), 'utf8').catch(() => null)) === stamp
}

/** The hash of the names and the contents of all files that match. */
export async function hashFiles(patterns: readonly string[], cwd: string): Promise<string> {
  const paths: string[] = []
  for await (const entry of glob(patterns, { cwd, withFileTypes: true })) {
    if (entry.isFile()) paths.push(join(entry.parentPath, entry.name))
  }
  const hash = createHash('sha256')
  for (const path of paths.toSorted()) hash.update(`${path}\n`).update(await readFile(path))
  return hash.digest('hex')
}

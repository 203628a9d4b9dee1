import { createHash } from 'node:crypto'
import { glob, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packFolder, sha256OfFile } from './clients/pack.ts'

/*
 * Builds build/downloads, the folder that the API serves at /downloads: the packages of the CLI, the SDK and
 * the MCP server as they are in this checkout, and their checksums. Does nothing if they are current.
 *
 *     node scripts/build-clients.ts [--check]
 *
 * With --check, exits with 1 if the folder is not current, and builds nothing.
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))
export const downloadsDir = join(repoDir, 'build/downloads')
const stampFile = '.sources'

/** Everything that the packages are made of. */
const sources = [
  '{sdk,cli,mcp}/{src/**/*,*}',
  'scripts/clients/*',
  'scripts/build-{sdk,clients}.ts',
  '{LICENSE,tsconfig.json,package-lock.json}',
]

/** Builds the packages unless `outDir` has them. Two builds at once do no harm. */
export async function buildClients(outDir: string): Promise<void> {
  const stamp = await hashSources()
  if ((await readStamp(outDir)) === stamp) return
  await mkdir(dirname(outDir), { recursive: true })
  const work = await mkdtemp(`${outDir}-`)
  try {
    await buildAll(work)
    await writeFile(join(work, 'done', stampFile), stamp)
    await rm(outDir, { recursive: true, force: true })
    await rename(join(work, 'done'), outDir)
  } catch (error) {
    // Another build of the same sources was faster.
    if ((await readStamp(outDir)) !== stamp) throw error
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function buildAll(work: string): Promise<void> {
  const done = join(work, 'done')
  await mkdir(done)
  // Loaded only for a build: a check is part of every start.
  const [{ buildCli }, { buildMcp }, { buildSdk }] = await Promise.all([
    import('../cli/build.ts'),
    import('../mcp/build.ts'),
    import('./build-sdk.ts'),
  ])
  const sums: string[] = []
  for (const [name, buildPackage] of [
    ['cli', buildCli],
    ['mcp', buildMcp],
    ['sdk', buildSdk],
  ] as const) {
    const [folder, file] = [join(work, name), `computer-${name}.tgz`]
    await buildPackage(folder)
    await packFolder(folder, join(done, file))
    sums.push(`${await sha256OfFile(join(done, file))}  ${file}\n`)
  }
  await writeFile(join(done, 'SHA256SUMS'), sums.join(''))
}

async function hashSources(): Promise<string> {
  const paths: string[] = []
  for await (const entry of glob(sources, { cwd: repoDir, withFileTypes: true })) {
    if (entry.isFile()) paths.push(join(entry.parentPath, entry.name))
  }
  const hash = createHash('sha256')
  for (const path of paths.toSorted()) hash.update(`${path}\n`).update(await readFile(path))
  return hash.digest('hex')
}

async function readStamp(outDir: string): Promise<string | null> {
  return readFile(join(outDir, stampFile), 'utf8').catch(() => null)
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  if (args[0] === '--check') {
    process.exitCode = (await readStamp(downloadsDir)) === (await hashSources()) ? 0 : 1
  } else {
    await buildClients(resolve(args[0] ?? downloadsDir))
  }
}

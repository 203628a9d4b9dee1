import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packFolder, sha256OfFile } from './clients/pack.ts'
import { buildStamped, hashFiles, isStamped } from './clients/stamped-folder.ts'

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

/** Everything that the packages are made of. */
const sources = [
  '{sdk,cli,mcp}/{src/**/*,*}',
  'scripts/clients/*',
  'scripts/build-{sdk,clients}.ts',
  '{LICENSE,tsconfig.json,package-lock.json}',
]

/** Builds the packages unless `outDir` has them. Two builds at once do no harm. */
export async function buildClients(outDir: string): Promise<void> {
  await buildStamped(outDir, await hashFiles(sources, repoDir), buildAll)
}

async function buildAll(done: string): Promise<void> {
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
    const [folder, file] = [join(done, `../${name}`), `computer-${name}.tgz`]
    await buildPackage(folder)
    await packFolder(folder, join(done, file))
    sums.push(`${await sha256OfFile(join(done, file))}  ${file}\n`)
  }
  await writeFile(join(done, 'SHA256SUMS'), sums.join(''))
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  if (args[0] === '--check') {
    process.exitCode = (await isStamped(downloadsDir, await hashFiles(sources, repoDir))) ? 0 : 1
  } else {
    await buildClients(resolve(args[0] ?? downloadsDir))
  }
}

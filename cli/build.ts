import { build, type Metafile } from 'esbuild'
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleViewer, viewerFile } from './src/commands/view/page.ts'

/*
 * Builds build/cli, the published package: the CLI bundled with its dependencies. One package to
 * fetch, few files to open at start, and no dependency that needs a newer Node than the CLI does.
 *
 *     node cli/build.ts && npm publish build/cli
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))

export async function buildCli(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true })
  await mkdir(join(outDir, 'dist'), { recursive: true })
  const { metafile } = await build({
    entryPoints: [join(repoDir, 'cli/src/main.ts')],
    outdir: join(outDir, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.12',
    // Installed separately, because it has native dependencies; `computer mcp` imports it if present.
    external: ['@computer/mcp', 'esbuild'],
    metafile: true,
    chunkNames: '[name]-[hash]',
    // Bundled CommonJS modules load Node's own modules by require.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: 'warning',
  })
  await chmod(join(outDir, 'dist/main.js'), 0o755)
  const viewer = await bundleViewer()
  await writeFile(join(outDir, 'dist', viewerFile), viewer.outputFiles[0]!.contents)
  const { private: _, dependencies: __, ...manifest } = await readJson('cli/package.json')
  const published = {
    ...manifest,
    bin: { computer: 'dist/main.js' },
    files: ['dist', 'CHANGELOG.md', 'THIRD_PARTY_LICENSES'],
  }
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md'])
    await copyFile(join(repoDir, 'cli', name), join(outDir, name))
  await copyFile(join(repoDir, 'LICENSE'), join(outDir, 'LICENSE'))
  await writeFile(
    join(outDir, 'THIRD_PARTY_LICENSES'),
    await licensesOf([metafile, viewer.metafile]),
  )
}

/** The licenses of all third-party packages in the bundle. */
async function licensesOf(metafiles: readonly Metafile[]): Promise<string> {
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs))
  const paths = inputs.map((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
  const folders = [...new Set(paths.filter((path) => path !== undefined))].toSorted()
  const texts = folders.map(async (path) => {
    const folder = resolve(path)
    const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each))
    if (!file) throw new Error(`${name} has no license file`)
    return `${name} ${version}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`
  })
  return (await Promise.all(texts)).join(`\n${'-'.repeat(78)}\n\n`)
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(repoDir, path), 'utf8')) as Record<string, unknown>
}

if (import.meta.main) await buildCli(resolve(process.argv[2] ?? join(repoDir, 'build/cli')))

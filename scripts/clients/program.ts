import { build, type Metafile } from 'esbuild'
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { imageCodecPlugin, writeImageCodec } from './image-codec.ts'
import { licensesOf } from './licenses.ts'

const repoDir = fileURLToPath(new URL('../../', import.meta.url))

type Program = {
  /** The folder of the workspace, such as `cli`. */
  readonly workspace: string
  /** Modules of its `src` that are bundled; `main` is the program. */
  readonly modules: readonly string[]
  readonly external?: readonly string[]
  /** What the published manifest says instead of the workspace's. */
  readonly manifest: Readonly<Record<string, unknown>>
  /** Writes further files into `dist`. */
  readonly addFiles?: (dist: string) => Promise<readonly Metafile[]>
}

/**
 * Writes the package of a program to `outDir`, replacing it: the program and all that it depends on as
 * modules for Node 20.12 and later. An installation needs nothing else, and no registry.
 */
export async function buildProgram(program: Program, outDir: string): Promise<void> {
  const { workspace, modules, external = [], manifest, addFiles } = program
  const dist = join(outDir, 'dist')
  await rm(outDir, { recursive: true, force: true })
  await mkdir(dist, { recursive: true })
  const { metafile } = await build({
    entryPoints: modules.map((name) => join(repoDir, workspace, 'src', `${name}.ts`)),
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.12',
    external: [...external],
    plugins: [imageCodecPlugin],
    metafile: true,
    chunkNames: '[name]-[hash]',
    // Bundled CommonJS modules load Node's own modules by require.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: 'warning',
  })
  await chmod(join(dist, 'main.js'), 0o755)
  const metafiles = [metafile, await writeImageCodec(dist), ...((await addFiles?.(dist)) ?? [])]
  await writeFile(
    join(outDir, 'THIRD_PARTY_LICENSES'),
    await licensesOf(metafiles.flatMap(({ inputs }) => Object.keys(inputs))),
  )
  const text = await readFile(join(repoDir, workspace, 'package.json'), 'utf8')
  const { private: _, dependencies: __, ...own } = JSON.parse(text) as Record<string, unknown>
  const files = ['dist', 'CHANGELOG.md', 'THIRD_PARTY_LICENSES']
  const published = { ...own, ...manifest, files }
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md'])
    await copyFile(join(repoDir, workspace, name), join(outDir, name))
  await copyFile(join(repoDir, 'LICENSE'), join(outDir, 'LICENSE'))
}

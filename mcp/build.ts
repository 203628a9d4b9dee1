import { build } from 'esbuild'
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * Builds build/mcp, the published package: our own modules bundled, with npm dependencies external.
 *
 *     node mcp/build.ts && npm publish build/mcp
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))

export async function buildMcp(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  const text = await readFile(join(repoDir, 'mcp/package.json'), 'utf8')
  const { private: _, dependencies, ...manifest } = JSON.parse(text) as Manifest
  const { '@computer/sdk': __, ...others } = dependencies
  await build({
    entryPoints: ['main', 'index'].map((name) => join(repoDir, `mcp/src/${name}.ts`)),
    outdir: join(outDir, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.12',
    external: Object.keys(others),
    logLevel: 'warning',
  })
  await chmod(join(outDir, 'dist/main.js'), 0o755)
  const published = {
    ...manifest,
    bin: { 'computer-mcp': 'dist/main.js' },
    exports: './dist/index.js',
    files: ['dist', 'CHANGELOG.md'],
    dependencies: others,
  }
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md'])
    await copyFile(join(repoDir, 'mcp', name), join(outDir, name))
  await copyFile(join(repoDir, 'LICENSE'), join(outDir, 'LICENSE'))
}

type Manifest = { readonly dependencies: Readonly<Record<string, string>> } & Record<
  string,
  unknown
>

if (import.meta.main) await buildMcp(resolve(process.argv[2] ?? join(repoDir, 'build/mcp')))

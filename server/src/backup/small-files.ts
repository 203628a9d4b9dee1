import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import { feedProgram } from '../feed-program.ts'

/* The small files of a data folder as an archive: the owner's key, settings, certificates. */

/** Made again by a server, or in the backup in another form. */
const leftOut = ['images', 'engine', 'postgres', 'postgres.new-*', 'logs', 'run', 'guest'] as const

const exactly = ['--numeric-owner', '--xattrs', '--anchored'] as const

type Place = Pick<Config, 'dataDir' | 'keyringPath'>

/** Streams the archive, without the keyring. The stream fails if the archive is not complete. */
export function archiveFiles(place: Place): Readable {
  return Readable.from(readArchive(place), { objectMode: false })
}

/** The program starts when somebody reads: of one that ends before, the output would be lost. */
async function* readArchive({ dataDir, keyringPath }: Place) {
  const inside = dirname(keyringPath) === dataDir ? [basename(keyringPath)] : []
  const excludes = [...leftOut, ...inside].map((name) => `--exclude=./${name}`)
  const args = ['--create', ...exactly, '--warning=no-file-changed', ...excludes]
  const child = spawn('tar', [...args, '--directory', dataDir, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  closed.catch(() => {})
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const [code] = (await closed) as [number | null]
    // 1: a file changed while it was read.
    if (code !== 0 && code !== 1) throw new Error('could not archive the files of the data folder')
  } finally {
    child.kill('SIGKILL')
  }
}

/** Extracts the archive. Settings that the folder has already stay. */
export async function extractFiles(archive: Readable, dataDir: string): Promise<void> {
  const kept = existsSync(join(dataDir, 'computer.env')) ? ['--exclude=./computer.env'] : []
  const args = ['--extract', ...exactly, '--same-owner', '--preserve-permissions', ...kept]
  const child = spawn('tar', [...args, '--directory', dataDir], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  const closed = once(child, 'close')
  closed.catch(() => {})
  await feedProgram(archive, child.stdin).finally(() => child.stdin.end())
  const [code] = (await closed) as [number | null]
  if (code !== 0) throw new Error('could not extract the files of the data folder')
}

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { feedProgram } from '../../../feed-program.ts'
import { DriverError } from '../../machine-driver.ts'
import { identify, setProtected } from './btrfs.ts'

/*
 * A subvolume as a stream (btrfs send, btrfs receive): what differs from another one, its base, which both ends have.
 * They find the base by a UUID that each of them gives it.
 */

const run = promisify(execFile)

export type End = {
  readonly folder: string
  /** It is read-only anyway, and stays so. */
  readonly isReadOnly: boolean
}
/** The name makes the UUID of a base, the same on every host. */
export type Base = End & { readonly name: string }

/** Streams a subvolume that nobody writes to. Both ends are read-only until the stream has ended. */
export async function sendSubvolume(disk: End, base: Base): Promise<Readable> {
  await identify(base.folder, uuidOf(base))
  const writable = [disk, base].filter(({ isReadOnly }) => !isReadOnly)
  const release = await protectAll(writable.map(({ folder }) => folder))
  return Readable.from(readSubvolume(disk.folder, base, release), { objectMode: false })
}

async function* readSubvolume(folder: string, base: Base, release: () => Promise<void>) {
  const child = spawn('btrfs', ['send', '--quiet', '-p', base.folder, folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = watchExit(child, 'send')
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    await exited
  } finally {
    child.kill('SIGKILL')
    await exited.catch(() => {})
    await release()
  }
}

/** Receives a stream into an empty folder. The result is the path of the new subvolume, which is writable. */
export async function receiveSubvolume(
  folder: string,
  base: Base,
  stream: Readable,
): Promise<string> {
  await identify(base.folder, uuidOf(base))
  const child = spawn('btrfs', ['receive', '--quiet', '-e', folder], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const exited = watchExit(child, 'receive')
  try {
    await Promise.all([feedProgram(stream, child.stdin), exited])
  } catch (error) {
    stream.destroy()
    child.kill('SIGKILL')
    await exited.catch(() => {})
    throw error
  }
  const [name, ...others] = await readdir(folder)
  if (name === undefined || others.length > 0) {
    throw new DriverError('the stream of a disk contains no single disk', { retryable: false })
  }
  const received = join(folder, name)
  await setProtected(received, false)
  return received
}

/** An empty folder for a subvolume that is received. Leftovers of an earlier call are removed. */
export async function emptyFolder(folder: string): Promise<void> {
  await removeFolder(folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
}

/** Removes a folder and the subvolumes in it. */
export async function removeFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) await removeSubvolume(join(folder, name))
  await rm(folder, { recursive: true, force: true })
}

export async function removeSubvolume(folder: string): Promise<void> {
  await run('btrfs', ['subvolume', 'delete', folder])
}

/** The UUID, in hex digits. */
function uuidOf({ name }: Base): string {
  return createHash('sha256').update(`transfer of ${name}`).digest('hex').slice(0, 32)
}

/** How many streams each folder is protected for. */
const holds = new Map<string, number>()

async function protectAll(folders: readonly string[]): Promise<() => Promise<void>> {
  for (const folder of folders) holds.set(folder, (holds.get(folder) ?? 0) + 1)
  const release = async () => {
    for (const folder of folders) {
      const left = holds.get(folder)! - 1
      if (left > 0) holds.set(folder, left)
      else {
        holds.delete(folder)
        // It may have been removed meanwhile.
        await setProtected(folder, false).catch(() => {})
      }
    }
  }
  try {
    for (const folder of folders) await setProtected(folder, true)
  } catch (error) {
    await release()
    throw error
  }
  return release
}

/** Rejects with what the program printed, unless it succeeds. */
async function watchExit(child: ChildProcess, action: string): Promise<void> {
  let output = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < maxOutput) output += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code === 0) return
  throw new DriverError(`btrfs ${action} failed: ${output.trim().slice(0, maxOutput)}`, {
    retryable: true,
  })
}

const maxOutput = 2_000

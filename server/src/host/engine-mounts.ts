import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { engineDirectory } from './engine.ts'

const releaseTimeoutMs = 60_000

/**
 * Unmounts what the engine leaves mounted when it ends: the pool above all, whose file is then complete and can
 * be copied. For an engine that has ended and whose machines are stopped; its next start mounts all again.
 */
export async function unmountEngine(dataDir: string): Promise<void> {
  const folder = `${engineDirectory(dataDir)}/`
  // Inner ones were mounted later.
  for (const path of (await listMounts(folder)).toReversed())
    await promisify(execFile)('umount', [path])
  await waitUntilReleased(folder)
}

/** The mount points whose path begins like this, in the order in which they were mounted. */
export async function listMounts(prefix: string): Promise<readonly string[]> {
  return (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => unescapePath(line.split(' ')[1] ?? ''))
    .filter((path) => path.startsWith(prefix))
}

/**
 * A mount is gone from this process at once, and its file system ends when no other process has a copy of it:
 * each that was given its own mounts meanwhile has one. Until then the kernel goes on writing to the file.
 */
async function waitUntilReleased(folder: string): Promise<void> {
  const deadline = performance.now() + releaseTimeoutMs
  for (;;) {
    const [file] = await findLoopFiles(folder)
    if (file === undefined) return
    if (performance.now() > deadline) {
      throw new Error(
        `${file} is unmounted, but another process of this host still uses it, so it may still change; find the process with: grep -l ${folder} /proc/*/mounts`,
      )
    }
    await delay(100)
  }
}

/** The files in a folder that are the disks of loop devices. */
async function findLoopFiles(folder: string): Promise<string[]> {
  const devices = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'))
  const files = await Promise.all(
    devices.map(async (name) =>
      // A device that is not in use has no such file.
      readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => ''),
    ),
  )
  return files.map((file) => file.trim()).filter((file) => file.startsWith(folder))
}

/** The kernel writes spaces and the like as octal numbers. */
function unescapePath(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)))
}

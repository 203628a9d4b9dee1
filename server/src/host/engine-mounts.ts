import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { engineDirectory } from './engine.ts'

/**
 * Unmounts what the engine leaves mounted when it ends: the pool above all, whose file is then complete and can
 * be copied. For an engine that has ended and whose machines are stopped; its next start mounts all again.
 */
export async function unmountEngine(dataDir: string): Promise<void> {
  const folder = `${engineDirectory(dataDir)}/`
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => unescapePath(line.split(' ')[1] ?? ''))
    .filter((path) => path.startsWith(folder))
  // Inner ones were mounted later.
  for (const path of mounts.toReversed()) await promisify(execFile)('umount', [path])
}

/** The kernel writes spaces and the like as octal numbers. */
function unescapePath(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)))
}

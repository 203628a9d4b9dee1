import { readdir, readFile, readlink } from 'node:fs/promises'

/** The ids of the processes that are told by their command line and their program's path. */
export async function findProcesses(
  isIt: (args: readonly string[]) => boolean,
  isProgram: (path: string) => boolean,
): Promise<number[]> {
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      // Each argument ends with a zero.
      const args = (await readFile(`/proc/${entry}/cmdline`, 'utf8')).split('\0').slice(0, -1)
      if (isIt(args) && isProgram(await readlink(`/proc/${entry}/exe`))) found.push(Number(entry))
    } catch {
      // It ended while we looked.
    }
  }
  return found
}

import { readdir, readFile, readlink } from 'node:fs/promises'

/** Finds processes by their command line and the path of their program. */
export async function findProcesses(
  hasArgs: (args: readonly string[]) => boolean,
  isProgram: (path: string) => boolean,
): Promise<number[]> {
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      // Each argument ends with a zero byte.
      const args = (await readFile(`/proc/${entry}/cmdline`, 'utf8')).split('\0').slice(0, -1)
      if (hasArgs(args) && isProgram(await readlink(`/proc/${entry}/exe`)))
        found.push(Number(entry))
    } catch {
      // The process has ended meanwhile.
    }
  }
  return found
}

import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The program that the set-up links into the PATH. */
export const ownLauncher = fileURLToPath(new URL('../../../cli/bin/computer', import.meta.url))

/** The place of that link (scripts/setup/launcher.sh). */
export const launcherLink = '/usr/local/bin/computer'

/** Another checkout of this host, or another program, may have the place. */
export function isOwnLauncher(path: string): boolean {
  const found = resolveLink(path)
  return found !== null && found === resolveLink(ownLauncher)
}

/** The path that a link leads to in the end, or null if there is nothing. */
export function resolveLink(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}

import { setTimeout as pause } from 'node:timers/promises'

/** Looks until it is so; a test has a bound of its own. */
export async function eventually(what: string, look: () => Promise<boolean>): Promise<void> {
  for (let left = 600; left > 0; left--) {
    if (await look()) return
    await pause(50)
  }
  throw new Error(`waited in vain: ${what}`)
}

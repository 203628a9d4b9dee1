import { setTimeout as pause } from 'node:timers/promises'

/** Polls until the condition holds. */
export async function eventually(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let left = 600; left > 0; left--) {
    if (await check()) return
    await pause(50)
  }
  throw new Error(`timed out waiting until ${what}`)
}

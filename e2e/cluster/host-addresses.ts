import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import type { Lifetime } from '../../server/test/harness.ts'

const run = promisify(execFile)

/**
 * Gives the loopback interface one more address for each host of a test, in a range that no network routes (RFC 5737).
 * Machines may reach that range where it belongs to nobody, so what closes these addresses to them is ours.
 */
export async function addHostAddresses(t: Lifetime, count: number): Promise<readonly string[]> {
  const first = randomInt(1, 250 - count)
  const addresses = Array.from({ length: count }, (_, index) => `203.0.113.${first + index}`)
  for (const address of addresses) {
    await run('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo'])
    t.after(async () => {
      await run('ip', ['address', 'delete', `${address}/32`, 'dev', 'lo'])
    })
  }
  return addresses
}

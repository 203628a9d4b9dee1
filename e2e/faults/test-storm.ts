import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soakSeed, type SoakName } from '../../scripts/soak/sizes.ts'
import { describe } from './describe.ts'
import { runStorm } from './storm.ts'

/**
 * Declares a test that runs operations on real machines while processes of a server are killed, and compares rows,
 * engines and kernel afterwards. A failure names the seed: `npm run soak -- NAME --seed N`.
 */
export function testStorm(
  name: SoakName,
  size: { readonly hosts: number; readonly operations: number; readonly kills: number },
): void {
  const seed = soakSeed(2026)
  const { hosts, operations, kills } = size
  const title = `acknowledged operations survive kills of every process (${hosts} hosts, seed ${seed})`
  test(title, async (t) => {
    const logFolder = process.env['COMPUTER_TEST_LOGS'] ?? `/var/tmp/computer-${name}-logs-${seed}`
    const say = (text: string) => t.diagnostic(text)
    const result = await runStorm({ seed, hosts, operations, kills, logFolder, say })
    t.diagnostic(describe(result))
    const { counts, differences } = result
    assert.deepEqual(differences, [])
    assert.ok(counts.operations >= operations)
    assert.equal(
      [...counts.kills.values()].reduce((sum, count) => sum + count, 0),
      kills,
    )
  })
}

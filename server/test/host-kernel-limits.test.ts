import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import {
  leastKernelLimits,
  limitPath,
  raiseKernelLimits,
  withSharedLimits,
} from '../src/host/kernel-limits.ts'

test('limits are raised, never lowered, and those that this kernel lacks are passed over', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'computer-sysctl-'))
  t.after(() => rm(folder, { recursive: true }))
  const values = { 'fs.aio-max-nr': '65536\n', 'fs.file-max': '9223372036854775807\n' }
  for (const [name, value] of Object.entries(values)) {
    await mkdir(dirname(limitPath(name, folder)), { recursive: true })
    await writeFile(limitPath(name, folder), value)
  }
  await raiseKernelLimits({ 'fs.aio-max-nr': 100_000, 'fs.file-max': 100_000, 'a.b': 1 }, folder)
  assert.equal(await readFile(limitPath('fs.aio-max-nr', folder), 'utf8'), '100000')
  assert.equal(await readFile(limitPath('fs.file-max', folder), 'utf8'), values['fs.file-max'])
})

test('what is not charged to machines is limited to a share of the memory', () => {
  const [small, large] = [leastKernelLimits(4 * 2 ** 30), leastKernelLimits(512 * 2 ** 30)]
  assert.equal(small['kernel.pty.max'], 8_192)
  assert.equal(large['kernel.pty.max'], 1_048_576)
  assert.equal(small['net.netfilter.nf_conntrack_max'], 262_144)
  assert.equal(large['net.netfilter.nf_conntrack_max'], 4_194_304)
})

test('the engine runs without limits that it shares with machines, where root may lift them', () => {
  const status = (capabilities: string) => `Name:\tnode\nCapEff:\t${capabilities}\n`
  assert.deepEqual(withSharedLimits(['incusd', 'x'], status('000001fffeffffff')), ['incusd', 'x'])
  assert.deepEqual(withSharedLimits(['incusd', 'x'], status('000001ffffffffff')).slice(-3), [
    '--',
    'incusd',
    'x',
  ])
})

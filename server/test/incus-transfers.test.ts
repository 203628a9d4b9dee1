import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestEngine } from '../../e2e/harness/engine.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { poolFolder } from '../src/drivers/incus/disks/host-pool.ts'
import { captureNameOf } from '../src/drivers/incus/instance.ts'
import { describeTransfers } from './conformance/transfers.ts'
import { makeIncusHarness } from './incus-harness.ts'

describeTransfers('the Incus driver', () => makeIncusHarness())

test('what a killed process has received is removed a day later', async () => {
  await using engine = await startTestEngine()
  const options = engine.optionsOf('leftovers')
  await using driver = createIncusDriver(options)
  await driver.prepare()
  const received = join(poolFolder(engine.engineDir, options.pool ?? 'default'), 'received')
  const [old, young] = ['a', 'b'].map((letter) => captureNameOf(`cap_${letter.repeat(26)}`))
  for (const name of [old!, young!]) {
    mkdirSync(join(received, name), { recursive: true })
    execFileSync('btrfs', ['subvolume', 'create', join(received, name, 'disk')])
  }
  const yesterday = Date.now() / 1000 - 25 * 60 * 60
  utimesSync(join(received, old!), yesterday, yesterday)
  await driver.sweep()
  assert.deepEqual(readdirSync(received), [young])
})

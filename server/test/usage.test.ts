import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { controls } = server.engine
const { id } = await server.machine()
const { disk } = server.guest(id)

test('the use of a disk is what the engine measures, and grows with what the machine writes', async () => {
  // Starts the agent, which writes to the disk.
  await readUsage()
  const before = await readUsage()
  disk.write('data', Buffer.alloc(3_000_000))
  const between = await readUsage()
  assert.equal(between.disk_used_bytes - before.disk_used_bytes, 3_000_000)
  disk.remove('data')
  assert.equal((await readUsage()).disk_used_bytes, before.disk_used_bytes)
})

test('an engine that fails or hangs withholds no other figure', async () => {
  controls.failNext('measureDisk')
  assert.ok((await readUsage()).memory_used_mb > 0)
  const hold = controls.hangNext('measureDisk')
  assert.ok((await readUsage()).memory_used_mb > 0)
  hold.release()
})

async function readUsage() {
  const { status, body } = await server.call('GET', `/v1/machines/${id}/usage-now`)
  assert.equal(status, 200)
  return body
}

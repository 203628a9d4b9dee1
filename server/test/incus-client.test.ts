import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { IncusClient } from '../src/drivers/incus/client.ts'
import { eventually } from './settled.ts'

test('connections of a burst are closed, and a call may take longer than an idle one lives', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'computer-client-'))
  t.after(() => rm(folder, { recursive: true }))
  let open = 0
  let most = 0
  const engine = createServer((_, response) => {
    const reply = JSON.stringify({ type: 'sync', metadata: 'done' })
    setTimeout(() => response.end(reply), 400)
  })
  // As the engine does, it keeps connections until their client closes them.
  engine.keepAliveTimeout = 0
  engine.on('connection', (socket) => {
    most = Math.max(most, (open += 1))
    socket.once('close', () => (open -= 1))
  })
  const socketPath = join(folder, 'engine.sock')
  await once(engine.listen(socketPath), 'listening')
  t.after(() => engine.close())
  using client = new IncusClient({ socketPath }, 100)
  const answers = await Promise.all(Array.from({ length: 10 }, () => client.get<string>('/1.0')))
  assert.deepEqual(new Set(answers), new Set(['done']))
  assert.equal(most, 10)
  await eventually(async () => open === 0 || undefined)
  assert.equal(await client.get('/1.0'), 'done')
})

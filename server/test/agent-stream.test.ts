import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { test } from 'node:test'
import { IncusClient } from '../src/drivers/incus/client.ts'
import { openAgentStream } from '../src/drivers/incus/agent/engine-stream.ts'

/** An engine whose machine stops between the beginning of an exec and the opening of its sockets. */
async function startEngine(t: { after: (end: () => Promise<void>) => void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-engine-'))
  const server = createServer((_request, response) => {
    const fds = { 0: 'a', 1: 'b', 2: 'c', control: 'd' }
    const operation = { id: 'op', class: 'websocket', status_code: 103, metadata: { fds } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ type: 'async', status_code: 100, metadata: operation }))
  })
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => {})
    socket.end('HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n')
  })
  const path = join(folder, 'unix.socket')
  await once(server.listen(path), 'listening')
  t.after(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })
  return path
}

test('a machine that stops while a stream to its agent opens is an error of that call alone', async (t) => {
  using client = new IncusClient({ socketPath: await startEngine(t) })
  for (let round = 0; round < 5; round++) {
    await assert.rejects(openAgentStream(client, 'machine', 'project'), {
      name: 'DriverError',
      status: 503,
      message: /could not open a stream to machine/,
    })
  }
})

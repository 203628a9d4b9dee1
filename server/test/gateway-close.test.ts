import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { Connection } from '../src/gateway/connection.ts'
import { createGateway } from '../src/gateway/server.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })

test('a handshake in progress does not delay the shutdown of the gateway', async () => {
  const { id } = await server.machine()
  const http = await createGateway(server.app)
  await http.listen({ host: '127.0.0.1', port: 0 })
  const closed = new Promise<void>((resolve) => {
    http.server.prependOnceListener('upgrade', () => {
      // By now the request waits for the database.
      setImmediate(() => resolve(http.close()))
    })
  })
  const { port } = http.server.address() as AddressInfo
  const headers = { authorization: `Bearer ${server.key}` }
  const client = new WebSocket(`ws://127.0.0.1:${port}/v1/machines/${id}/screen`, { headers })
  assert.deepEqual((await once(client, 'close'))[0], 1001)
  await closed
})

test('a message that is larger than any is refused with the code of the channels', async (t) => {
  const gateway = await startTestGateway(t, server.app)
  const headers = { authorization: `Bearer ${server.key}` }
  const client = await gateway.connect('/v1/events', { headers })
  client.socket.send(Buffer.alloc(5 * 1024 * 1024))
  assert.equal((await client.closed).code, 4413)
})

test('a peer that is silent for 45 s is dropped, unless it cannot be heard', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const socket = Object.assign(new EventEmitter(), {
    isPaused: false,
    pings: 0,
    isTerminated: false,
    ping: () => (socket.pings += 1),
    terminate: () => (socket.isTerminated = true),
  })
  new Connection(socket as never, null as never, null as never, () => {})
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second++) t.mock.timers.tick(1_000)
  }
  pass(44)
  assert.equal(socket.pings, 2)
  socket.emit('pong')
  pass(44)
  socket.isPaused = true
  pass(44)
  socket.isPaused = false
  assert.equal(socket.isTerminated, false)
  pass(2)
  assert.equal(socket.isTerminated, true)
})

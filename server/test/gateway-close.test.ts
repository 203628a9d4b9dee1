import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { createGateway } from '../src/gateway/server.ts'
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

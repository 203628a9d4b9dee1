import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { egressOf } from '../src/domain/previews/egress.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { organizationId } = await server.user('member')
const headers = { authorization: `Bearer ${server.key}` }

test('the payload of a screen and of a terminal counts, once the gateway has written it', async (t) => {
  const gateway = await startTestGateway(t, server.app)
  const { id } = await server.machine()
  const opened = await server.call('POST', `/v1/machines/${id}/terminals`, { command: ['cat'] })
  const terminal = await gateway.connect(`/v1/machines/${id}/terminals/${opened.body.id}`, {
    headers,
  })
  terminal.socket.send(Buffer.alloc(2_000, 'x'))
  await terminal.until((client) => payloadOf(client) >= 2_000)
  const screen = await gateway.connect(`/v1/machines/${id}/screen`, { headers })
  // The version of RFB, which the server sends first.
  await screen.until((client) => payloadOf(client) >= 12)
  const events = await gateway.connect(`/v1/machines/${id}/events`, { headers })
  await events.until((client) => client.ticks > 0)
  const clients = [terminal, screen, events]
  for (const client of clients) await client.close()
  await gateway.stop()

  const received = clients.reduce((sum, client) => sum + payloadOf(client), 0)
  const all = { start: new Date(0), end: new Date(Date.now() + 3_600_000) }
  assert.equal(await egressOf(server.app.db, organizationId, all), BigInt(received))
})

function payloadOf({ frames }: { readonly frames: readonly object[] }): number {
  return frames.reduce(
    (sum, frame) => sum + ('payload' in frame ? (frame.payload as Buffer).length : 0),
    0,
  )
}

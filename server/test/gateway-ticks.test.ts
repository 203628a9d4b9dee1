import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { timing: { tickMs: 20 } })
const gateway = await startTestGateway({ after }, server.app)
const headers = { authorization: `Bearer ${server.key}` }
const { id } = await server.machine()
const machine = `/v1/machines/${id}`

test('screens and events carry ticks, also while a machine is stopped', async () => {
  const stopped = await server.machine({ start: false })
  const screens = [`${machine}/screen`, `/v1/machines/${stopped.id}/screen`]
  for (const path of [...screens, `${machine}/events`, '/v1/events']) {
    const client = await gateway.connect(path, { headers })
    await client.until(({ ticks }) => ticks >= 3)
    await client.close()
  }
})

test('a terminal carries none', async () => {
  const { body } = await server.call('POST', `${machine}/terminals`, {})
  const terminal = await gateway.connect(`${machine}/terminals/${body.id}`, { headers })
  const events = await gateway.connect('/v1/events', { headers })
  await events.until(({ ticks }) => ticks >= 5)
  assert.equal(terminal.ticks, 0)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { connected, drive, landed, settledBy, untilLanded } from './screen-driver.ts'
import { controlsOf, untilControl, untilSeen, view } from './screen-viewer.ts'

/* A screen without a session only watches. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const owner = server.as(await server.user('owner'))
const a = 0x61

test('it shows the screen and all messages, and opens no session', async () => {
  const { id } = await server.machine()
  const watcher = await view(gateway, id, server.key)
  await untilControl(watcher, 'ready')
  const { sessionId } = await server.lease(id)
  await untilControl(watcher, 'lease', ({ holder }) => holder !== null)
  server.guest(id).screens.paint(0, 0, 0x00ff00)
  await untilSeen(watcher, 0, 0, 0x00ff00)
  await watcher.socket.until(({ ticks }) => ticks > 0)
  const { body } = await server.call('GET', `/v1/sessions?machine_id=${id}`)
  assert.deepEqual(
    body.data.map((session: { id: string }) => session.id),
    [sessionId],
  )
  await server.call('POST', `/v1/machines/${id}/stop?wait=30`)
  await untilControl(watcher, 'machine', ({ state }) => state === 'stopped')
  await server.call('DELETE', `/v1/machines/${id}`)
  assert.equal((await watcher.socket.closed).code, 4404)
})

test('it needs none of the sessions that the plan allows', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const { id } = await small.machine()
  const open = () => small.call('POST', '/v1/sessions', { machine_id: id })
  let last = await open()
  while (last.status === 201) last = await open()
  assert.equal(last.body.error.quota.limit, 'concurrent_sessions')
  const watcher = await view(await startTestGateway(t, small.app), id, small.key)
  await connected(watcher)
})

test('its input never reaches the machine, also under the true fence of its own key', async () => {
  const { id } = await server.machine()
  const { viewer: holder, fence } = await drive(server, gateway, id)
  const watcher = await view(gateway, id, server.key)
  await connected(watcher)
  watcher.socket.send({ type: 'input_fence', fence })
  watcher.rfb.key(a, true)
  watcher.rfb.pointer(5, 5, 1)
  watcher.rfb.copy('stolen')
  watcher.rfb.setDesktopSize({ width: 800, height: 600 })
  await settledBy(watcher)
  holder.rfb.key(a, true)
  await untilLanded(server, id, (events) => events.length > 0)
  assert.deepEqual(landed(server, id), ['press a'])
  assert.equal(server.guest(id).screens.inputs, 1)
  assert.deepEqual(controlsOf(watcher, 'lease_lost'), [])
  const { body } = await server.call('GET', `/v1/machines/${id}/display`)
  assert.deepEqual([body.width, body.height], [1280, 800])
})

test('it ends with its credential, and outlives the permission to control', async () => {
  const { id } = await server.machine()
  const reader = await server.apiKey({ scopes: ['machines:read'] })
  const watcher = await view(gateway, id, reader.secret)
  await connected(watcher)
  await owner('DELETE', `/v1/api-keys/${reader.id}`)
  assert.equal((await watcher.socket.closed).code, 4401)

  const creator = await server.user('member')
  const other = await view(gateway, id, (await server.apiKey({ creator })).secret)
  await connected(other)
  const { body } = await owner('GET', '/v1/members?limit=100')
  const isCreator = ({ user }: { user: { id: string } }) => user.id === creator.userId
  await owner('DELETE', `/v1/members/${body.data.find(isCreator).id}`)
  assert.equal((await other.socket.closed).code, 4403)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { addEgress, egressOf } from '../src/domain/previews/egress.ts'
import { startTestPreviews } from './preview-server.ts'

/* Requests that are open when a preview ends, and egress counts under failures. */

const context = await startTestPreviews({ after })
const { publish, unpublish, listen, ask, connect, port, server, previews, machine } = context
const { app } = server

test('unpublishing aborts the open requests of that preview only', async () => {
  const gone = await publish({ port: 80, access: 'public' })
  const kept = await publish({ port: 81, access: 'public' })
  serveForever(80)
  serveForever(81)
  const open = async (host: string) => {
    const stream = await connect()
    stream.setEncoding('utf8').write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    await once(stream, 'data')
    const upload = await connect()
    upload.write(
      `POST / HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    )
    await once(upload, 'data')
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host } })
    await once(socket, 'open')
    return { stream, upload, socket }
  }
  const [cut, going] = [await open(gone.host), await open(kept.host)]
  const ended = [cut.stream, cut.upload, cut.socket].map((each) => once(each, 'close'))
  assert.equal((await unpublish(gone.id)).status, 204)
  await Promise.all(ended)
  assert.equal((await ask(gone.host)).status, 404)

  going.socket.send('still here')
  assert.equal(String((await once(going.socket, 'message'))[0]), 'still here')
  assert.deepEqual([going.stream.destroyed, going.upload.destroyed], [false, false])
  for (const each of [going.stream, going.upload]) each.destroy()
  going.socket.terminate()
})

test('after a lost notification, the next poll aborts open requests', async () => {
  const preview = await publish({ port: 82, access: 'public' })
  serveForever(82)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host: preview.host } })
  await once(socket, 'open')
  const ended = once(socket, 'close')
  // Deleted without a notification, as if it was lost.
  await app.db.deleteFrom('previews').where('id', '=', preview.id).execute()
  await ended
  // A request admitted by a stale cache entry is aborted too.
  const poll = () => ask(preview.host).catch(() => null)
  while ((await poll())?.status !== 404);
})

test('the open requests of a member end with their membership', async () => {
  const preview = await publish({ port: 83 })
  serveForever(83)
  const link = new URL(preview.access_url!)
  const user = await server.user('member')
  await app.db
    .updateTable('preview_links')
    .set({ auth_session_id: user.authSessionId })
    .where('preview_id', '=', preview.id)
    .execute()
  const opened = await ask(preview.host, link.pathname + link.search)
  const cookie = String([opened.headers['set-cookie']].flat()[0]).split(';')[0]!
  const headers = { host: preview.host, cookie }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers })
  await once(socket, 'open')
  const ended = once(socket, 'close')
  await app.db.deleteFrom('memberships').where('user_id', '=', user.userId).execute()
  app.principals.invalidate()
  await ended
  while ((await ask(preview.host, '/', { headers: { cookie } })).status !== 401);
})

test('the bytes of a WebSocket count, and a batch written twice counts once', async () => {
  const preview = await publish({ port: 84, access: 'public' })
  serveForever(84)
  const { organizationId } = await server.user('member')
  const all = { start: new Date(0), end: new Date(Date.now() + 3_600_000) }
  const count = () => egressOf(app.db, organizationId, all)
  const headers = { host: preview.host }
  await previews.traffic.flush()
  const before = await count()
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers, perMessageDeflate: false })
  await once(socket, 'open')
  socket.send('x'.repeat(1_000))
  await once(socket, 'message')
  await previews.traffic.flush()
  // A frame of that length has a header of four bytes.
  assert.equal(await count(), before + 1_004n)
  socket.terminate()

  const batch = [{ machineId: machine.id, organizationId, bytes: 500 }]
  for (let time = 0; time < 3; time++) await addEgress(app.db, 'batch', batch)
  assert.equal(await count(), before + 1_504n)
})

test('counts that could not be written are retried', async () => {
  const preview = await publish({ port: 85, access: 'public' })
  listen((_request, response) => response.end('x'.repeat(100)), { port: 85 })
  const { organizationId } = await server.user('member')
  const all = { start: new Date(0), end: new Date(Date.now() + 3_600_000) }
  await previews.traffic.flush()
  const before = await egressOf(app.db, organizationId, all)
  await ask(preview.host)
  const { sql } = await import('kysely')
  await sql`alter table egress_counts rename to egress_away`.execute(app.db)
  await previews.traffic.flush()
  await ask(preview.host)
  await sql`alter table egress_away rename to egress_counts`.execute(app.db)
  await previews.traffic.flush()
  assert.equal(await egressOf(app.db, organizationId, all), before + 200n)
})

test('counts are written when the server stops', async () => {
  const preview = await publish({ port: 86, access: 'public' })
  listen((_request, response) => response.end('x'.repeat(100)), { port: 86 })
  const { organizationId } = await server.user('member')
  const all = { start: new Date(0), end: new Date(Date.now() + 3_600_000) }
  await previews.traffic.flush()
  const before = await egressOf(app.db, organizationId, all)
  await ask(preview.host)
  await context.stop()
  assert.equal(await egressOf(app.db, organizationId, all), before + 100n)
})

/** Responses never end, and WebSockets echo. */
function serveForever(at: number): void {
  const sockets = new WebSocketServer({ noServer: true })
  listen((_request, response) => void response.writeHead(200).write('begun'), { port: at }).on(
    'upgrade',
    (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (client) => {
        client.on('message', (data) => client.send(String(data)))
      })
    },
  )
}

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { GatewayClient, HandshakeRefused, startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const bearer = { headers: { authorization: `Bearer ${server.key}` } }
const { id: machine } = await server.machine()
const path = `/v1/machines/${machine}/terminals`

test('a terminal is opened, listed, resized and killed', async () => {
  const opened = await server.call('POST', path, {})
  assert.equal(opened.status, 201)
  const { id, created_at: createdAt, ...rest } = opened.body
  assert.match(id, /^trm_[0-9a-z]{26}$/)
  assert.ok(Date.parse(createdAt) > 0)
  assert.deepEqual(rest, {
    command: ['/bin/bash', '-l'],
    user: 'agent',
    cwd: '/home/agent',
    cols: 80,
    rows: 24,
    attached: false,
  })
  const second = await server.call('POST', path, { cols: 100, rows: 30, user: 'root' })
  const list = await server.call('GET', path)
  assert.deepEqual(list.body, {
    data: [second.body, opened.body],
    next_cursor: null,
    has_more: false,
  })
  const resized = await server.call('PATCH', `${path}/${id}`, { cols: 132, rows: 43 })
  assert.deepEqual(resized.body, { ...opened.body, cols: 132, rows: 43 })
  assert.equal((await server.call('DELETE', `${path}/${id}`)).status, 204)
  assert.equal((await server.call('DELETE', `${path}/${id}`)).status, 404)
  assert.equal((await server.call('PATCH', `${path}/${id}`, { cols: 1, rows: 1 })).status, 404)
  await server.call('DELETE', `${path}/${second.body.id}`)
  assert.deepEqual((await server.call('GET', path)).body.data, [])
})

test('a call retried with its idempotency key opens one terminal', async () => {
  const { id } = await server.machine()
  const open = () =>
    server.call('POST', `/v1/machines/${id}/terminals`, {}, { 'idempotency-key': 'again' })
  const [first, second] = [await open(), await open()]
  assert.equal(second.body.id, first.body.id)
  assert.equal((await server.call('GET', `/v1/machines/${id}/terminals`)).body.data.length, 1)
})

test('an invalid size is refused', async () => {
  for (const size of [{ cols: 0 }, { rows: 1001 }, { cols: 80.5 }, { rows: '24' }]) {
    const { status, body } = await server.call('POST', path, size)
    assert.deepEqual([status, body.error.code], [400, 'invalid_request'])
  }
})

test('a machine that is not running has no terminals', async () => {
  const { id } = await server.machine({ start: false })
  for (const method of ['GET', 'POST'] as const) {
    const { body } = await server.call(method, `/v1/machines/${id}/terminals`)
    assert.equal(body.error.code, 'precondition_failed')
  }
})

test('bytes pass unmodified in both directions, a resize arrives, and the exit comes last', async () => {
  const script = 'stty raw -echo; printf ready; head -c 256; stty sane; printf sane; exec sh'
  const id = await open({ command: ['sh', '-c', script] })
  const client = await connect(id)
  await client.until(() => textOf(client) === 'ready')
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  client.socket.send(bytes)
  const expected = Buffer.concat([Buffer.from('ready'), bytes, Buffer.from('sane')])
  await client.until(() => sizeOf(client) >= expected.length)
  assert.deepEqual(bytesOf(client).subarray(0, expected.length), expected)
  client.send({ type: 'resize', cols: 132, rows: 43 })
  client.socket.send('stty size\r', { binary: true })
  await client.until(() => textOf(client).includes('43 132\r\n'))
  assert.deepEqual((await server.call('GET', path)).body.data[0].attached, true)
  client.socket.send('exit 3\r', { binary: true })
  assert.equal((await client.closed).code, 1000)
  assert.deepEqual(client.frames.at(-1), { control: { type: 'exit', exit_code: 3 } })
})

test('input sent before the terminal is attached is not lost', async () => {
  const id = await open()
  const url = `${gateway.origin.replace('http', 'ws')}${path}/${id}`
  const client = new GatewayClient(new WebSocket(url, bearer))
  client.socket.once('open', () => {
    for (const key of 'exit 9\r') client.socket.send(key, { binary: true })
  })
  assert.equal((await client.closed).code, 1000)
  assert.deepEqual(client.controls, [{ type: 'exit', exit_code: 9 }])
})

test('a second client is refused; after the first has left, the next gets the recent output', async () => {
  const id = await open({ command: ['cat'] })
  const first = await connect(id)
  first.socket.send('seen\r', { binary: true })
  await first.until(() => textOf(first) === 'seen\r\nseen\r\n')
  const second = await connect(id)
  assert.equal((await second.closed).code, 4409)
  await first.close()
  await eventually(async () => ((await attached(id)) ? undefined : true))
  const third = await connect(id)
  await third.until(() => textOf(third) === textOf(first))
  await third.close()
})

test('a terminal survives the shutdown of the gateway', async (t) => {
  const other = await startTestGateway(t, server.app)
  const id = await open({ command: ['cat'] })
  const client = await other.connect(`${path}/${id}`, bearer)
  client.socket.send('kept\r', { binary: true })
  await client.until(() => textOf(client) === 'kept\r\nkept\r\n')
  await other.stop()
  assert.equal((await client.closed).code, 1001)
  await eventually(async () => ((await attached(id)) ? undefined : true))
  const again = await connect(id)
  await again.until(() => textOf(again) === textOf(client))
})

test('a handshake is refused with the reason', async () => {
  const id = await open()
  const viewer = await server.apiKey({ scopes: ['machines:read'] })
  const refused = async (url: string, secret: string) => {
    const options = { headers: { authorization: `Bearer ${secret}` } }
    const error = await gateway.connect(url, options).then(
      () => assert.fail('the handshake was accepted'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof HandshakeRefused)
    return [error.status, error.body.error.code]
  }
  const unknown = `${path}/trm_${'0'.repeat(26)}`
  assert.deepEqual(await refused(unknown, server.key), [404, 'not_found'])
  assert.deepEqual(await refused(`${path}/${id}`, viewer.secret), [403, 'permission_denied'])
  assert.deepEqual(await refused(`${path}/${id}`, 'nonsense'), [401, 'unauthenticated'])
  const { id: stopped } = await server.machine({ start: false })
  const elsewhere = `/v1/machines/${stopped}/terminals/${id}`
  assert.deepEqual(await refused(elsewhere, server.key), [412, 'precondition_failed'])
})

test('a terminal that is killed, and a machine that stops, end the connection', async () => {
  // A shell that is still starting may not notice a hangup.
  const killed = await connect(await open({ command: ['sleep', '600'] }))
  const { id: killedId } = (await server.call('GET', path)).body.data[0]
  await server.call('DELETE', `${path}/${killedId}`)
  assert.equal((await killed.closed).code, 1000)
  assert.deepEqual(killed.controls, [{ type: 'exit', exit_code: 129 }])

  const { id } = await server.machine()
  const other = `/v1/machines/${id}/terminals`
  const { body } = await server.call('POST', other, {})
  const client = await gateway.connect(`${other}/${body.id}`, bearer)
  await server.call('POST', `/v1/machines/${id}/stop?wait=30`)
  assert.equal((await client.closed).code, 4404)
})

test('an invalid control message closes the connection', async () => {
  const client = await connect(await open())
  client.send({ type: 'resize', cols: 0, rows: 24 })
  assert.equal((await client.closed).code, 1002)
})

test('a client that does not read slows the machine down instead of filling the gateway', async () => {
  const blocks = 512
  const block = 'head -c 65536 /dev/zero; printf . >> written'
  // It begins when it is asked to: only the end of what it wrote before the client came would be sent.
  const begin = 'stty raw -echo; printf r; head -c 1 > /dev/null'
  const script = `${begin}; for _ in $(seq ${blocks}); do ${block}; done; exec sleep 600`
  const id = await open({ command: ['sh', '-c', script] })
  const client = await connect(id)
  await client.until(() => sizeOf(client) === 1)
  client.socket.send('b', { binary: true })
  client.socket.pause()
  const { disk } = server.guest(machine)
  const countWritten = () => disk.read('written')?.length ?? 0
  let written = 0
  // Waits until the program makes no progress over 20 polls.
  for (let idlePolls = 0; idlePolls < 20 && written < blocks;) {
    await pause(20)
    const now = countWritten()
    idlePolls = now > 0 && now === written ? idlePolls + 1 : 0
    written = now
  }
  assert.ok(written < blocks / 4, `${written} blocks were taken`)
  client.socket.resume()
  await client.until(() => sizeOf(client) === 1 + blocks * 65_536)
})

async function open(request: object = {}): Promise<string> {
  const { status, body } = await server.call('POST', path, request)
  assert.equal(status, 201)
  return body.id
}

async function attached(id: string): Promise<boolean> {
  const { body } = await server.call('GET', path)
  return body.data.find((one: { id: string }) => one.id === id).attached
}

function connect(id: string): Promise<GatewayClient> {
  return gateway.connect(`${path}/${id}`, bearer)
}

function bytesOf(client: GatewayClient): Buffer {
  return Buffer.concat(client.frames.flatMap((one) => ('payload' in one ? [one.payload] : [])))
}

function sizeOf(client: GatewayClient): number {
  return client.frames.reduce((sum, one) => sum + ('payload' in one ? one.payload.length : 0), 0)
}

function textOf(client: GatewayClient): string {
  return bytesOf(client).toString('latin1')
}

import type { OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../src/config.ts'
import { createHttp } from '../src/http/server.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { testTiming } from './timing.ts'
import { eventually } from './settled.ts'

const mebibyte = 1024 * 1024
const text = 'x'.repeat(20 * mebibyte)

test('callers that read nothing get no more than their organization has room for', async (t) => {
  const { ask, askAndReadNothing, status } = await start(t)
  const silent = await Promise.all(['a', 'a', 'a'].map(askAndReadNothing))
  await eventually(async () => (await status('a')) === 429 || undefined)
  const refused = await ask('a')
  assert.match(refused.body, /have yet to read 64 MiB of earlier responses/)
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal(await status('b'), 200, 'another organization')
  for (const socket of silent) socket.destroy()
  await eventually(async () => (await status('a')) === 200 || undefined)
})

test('callers that send slowly hold no more than their organization has room for', async (t) => {
  const { send, write, received } = await start(t)
  const long = 'x'.repeat(7 * mebibyte)
  const slow = await Promise.all(Array.from({ length: 8 }, () => write('a', long)))
  // Each of them then has a buffer of 7 MiB or more.
  await eventually(async () => received() > 8 * long.length || undefined)
  const refused = await send('a', long)
  assert.equal(refused.status, 429)
  assert.match(await refused.text(), /send at once are larger than 64 MiB/)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal((await send('a', 'x')).status, 200, 'a short body')
  assert.equal((await send('b', long)).status, 200, 'another organization')
  for (const socket of slow) socket.destroy()
  await eventually(async () => (await send('a', long)).status === 200 || undefined)
})

test('a connection on which nothing is read is closed', async (t) => {
  const { askAndReadNothing, connections } = await start(t, { responseSilenceMs: 50 })
  const socket = await askAndReadNothing('a')
  await eventually(async () => (await connections()) === 0 || undefined)
  assert.ok(!socket.destroyed, 'our end has heard nothing, since it does not read')
})

async function start(t: TestContext, timing: Partial<typeof testTiming> = {}) {
  const http = createHttp({
    config: readConfig({ COMPUTER_DATA: '/nonexistent' }),
    log: pino({ level: 'silent' }),
    timing: { ...testTiming, ...timing },
    metrics: createMetrics(),
  })
  http.get('/:organization', async (request) => {
    request.organizationId = (request.params as { organization: OrganizationId }).organization
    return text
  })
  http.post('/:organization', {
    bodyLimit: 8 * mebibyte,
    onRequest: async (request) => {
      request.organizationId = (request.params as { organization: OrganizationId }).organization
    },
    handler: async () => ({}),
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const accepted: Socket[] = []
  http.server.on('connection', (socket) => accepted.push(socket))
  const sockets: Socket[] = []
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    http.server.closeAllConnections()
    await http.close()
  })
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  const json = { 'content-type': 'application/json' }
  const ask = (organization: string) => http.inject({ url: `/${organization}` })
  return {
    ask,
    status: async (organization: string) => (await ask(organization)).statusCode,
    connections: () =>
      new Promise<number>((resolve, reject) =>
        http.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    received: () => accepted.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    async askAndReadNothing(organization: string) {
      const socket = await open()
      socket.pause()
      socket.write(`GET /${organization} HTTP/1.1\r\nhost: x\r\n\r\n`)
      return socket
    },
    send: (organization: string, text: string) =>
      fetch(`http://127.0.0.1:${port}/${organization}`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ text }),
      }),
    /** Sends a body that never ends. */
    async write(organization: string, text: string) {
      const socket = await open()
      socket.on('error', () => {})
      const length = `content-length: ${8 * mebibyte}\r\ncontent-type: application/json`
      socket.write(`POST /${organization} HTTP/1.1\r\nhost: x\r\n${length}\r\n\r\n{"text":"${text}`)
      return socket
    },
  }
}

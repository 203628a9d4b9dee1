import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { WebSocket as WsSocket } from 'ws'
import { ByteReader } from './byte-reader.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

/* A terminal has one client. All others are told so, whatever library they use. */

const handshakes = 1000
const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const headers = { authorization: `Bearer ${server.key}` }

/** Opens a WebSocket that is refused, and resolves to its close code. */
type Client = (path: string) => Promise<number>

const clients: Readonly<Record<string, Client>> = {
  ws: async (path) => {
    const socket = new WsSocket(`${gateway.origin}${path}`, { headers })
    const [code] = (await once(socket, 'close')) as [number]
    return code
  },

  'the WebSocket of Node': async (path) => {
    // Options are Node's addition to the standard.
    const options = { headers } as unknown as string
    const socket = new WebSocket(`${gateway.origin}${path}`, options)
    const [{ code }] = (await once(socket, 'close')) as [CloseEvent]
    return code
  },

  'bare HTTP': async (path) => {
    const upgrade = request(`${gateway.origin}${path}`, {
      headers: {
        ...headers,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'c2l4dGVlbiBieXRlcyEhIQ==',
      },
    }).end()
    const [, socket, first] = (await once(upgrade, 'upgrade')) as [unknown, Socket, Buffer]
    const bytes = new ByteReader()
    bytes.push(first)
    socket.on('data', (chunk: Buffer) => bytes.push(chunk))
    assert.equal(await bytes.u8(), 0x88, 'the first frame closes')
    await bytes.u8()
    const code = await bytes.u16()
    socket.destroy()
    return code
  },
}

test(`the second client of a terminal is refused with 4409 in ${handshakes} handshakes`, async () => {
  const { id: machine } = await server.machine()
  const terminals = `/v1/machines/${machine}/terminals`
  const { id } = (await server.call('POST', terminals, { command: ['cat'] })).body
  const path = `${terminals}/${id}`
  const first = await gateway.connect(path, { headers })
  const names = Object.keys(clients)
  const codes = Object.fromEntries(names.map((name) => [name, new Map<number, number>()]))
  for (let count = 0; count < handshakes; count++) {
    const name = names[count % names.length]!
    const code = await clients[name]!(path)
    codes[name]!.set(code, (codes[name]!.get(code) ?? 0) + 1)
  }
  for (const name of names) assert.deepEqual([...codes[name]!.keys()], [4409], name)
  assert.equal(first.socket.readyState, WsSocket.OPEN)
  await first.close()
})

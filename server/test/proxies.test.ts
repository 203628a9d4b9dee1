import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { startPreviewServer } from '../src/gateway/previews/server.ts'
import { goodPassword } from './browser.ts'
import { GatewayClient, startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { clientAddress, readText, startProxy, type ProxyName } from './proxies.ts'

/* The reverse proxies of the guides, in front of a server over the fake engine. */

const server = await startTestServer(
  { after },
  {
    env: {
      COMPUTER_BASE_URL: 'https://computer.example.com',
      COMPUTER_GATEWAY_URL: 'wss://computer.example.com',
      COMPUTER_PREVIEW_DOMAIN: 'preview.example.com',
      COMPUTER_PREVIEW_CERT: '',
      COMPUTER_PREVIEW_KEY: '',
      COMPUTER_TRUST_PROXY: '127.0.0.1',
    },
  },
)
const api = Number((await server.listen()).port)
const gateway = Number(new URL((await startTestGateway({ after }, server.app)).origin).port)
const previews = await startPreviewServer(server.app, { ...server.app.config.previews!, port: 0 })
after(() => previews.close())
const { id: machine } = await server.machine()
const bearer = { authorization: `Bearer ${server.key}` }
const upstreams = { api, gateway, previews: previews.port }
const names: readonly ProxyName[] = ['nginx', 'caddy']
const proxies = await Promise.all(
  names.map(async (name) => ({ name, proxy: await startProxy({ after }, name, upstreams) })),
)

for (const { name, proxy } of proxies) {
  const origin = `https://${proxy.site}`

  test(`${name}: a browser signs in with Secure cookies, from the address that it has`, async () => {
    const post = proxy.open(proxy.site, {
      method: 'POST',
      path: '/v1/auth/signup',
      headers: { origin, 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
    })
    const account = { email: `${name}@example.com`, password: goodPassword }
    post.end(JSON.stringify(account))
    const [answer] = (await once(post, 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 201, await readText(answer))
    const cookies = answer.headers['set-cookie']!
    assert.ok(cookies.some((cookie) => cookie.startsWith('__Host-computer_session=')))
    for (const cookie of cookies) {
      assert.ok(cookie.includes('; Secure') || cookie.includes('Max-Age=0'), cookie)
    }

    const cookie = cookies.map((one) => one.split(';')[0]).join('; ')
    const addresses = async (path: string) => {
      const get = proxy.open(proxy.site, { path, headers: { cookie, origin } }).end()
      const [list] = (await once(get, 'response')) as [IncomingMessage]
      const { data } = JSON.parse(await readText(list)) as { data: { address: string }[] }
      return data.map(({ address }) => address)
    }
    assert.deepEqual(await addresses('/v1/auth/sessions'), [clientAddress])
    assert.ok((await addresses('/v1/audit-events')).includes(clientAddress))
  })

  test(`${name}: a WebSocket reaches the gateway`, async () => {
    const path = `/v1/machines/${machine}/terminals`
    const opened = await server.call('POST', path, { command: ['cat'] })
    const lookup: LookupFunction = (_name, _options, found) => found(null, '127.0.0.1', 4)
    const { ca, localAddress } = proxy.connection
    const options = { headers: bearer, ca, localAddress, lookup }
    const url = `wss://${proxy.site}${path}/${opened.body.id}`
    const client = new GatewayClient(new WebSocket(url, options))
    await client.opened
    client.socket.send('seen\r', { binary: true })
    const text = () =>
      Buffer.concat(client.frames.flatMap((frame) => ('payload' in frame ? [frame.payload] : [])))
    await client.until(() => text().toString() === 'seen\r\nseen\r\n')
    await client.close()
  })

  test(`${name}: an upload reaches the API while it is being sent`, async () => {
    const path = `/v1/machines/${machine}/files/content?path=${name}.bin`
    const block = Buffer.alloc(2 ** 20, 'x')
    const headers = { ...bearer, 'content-type': 'application/octet-stream' }
    const upload = proxy.open(proxy.site, { method: 'PUT', path, headers })
    const arrived = once(server.http.server, 'request') as Promise<[IncomingMessage]>
    upload.write(block)
    // A proxy that keeps a body until it is complete would wait for the rest, and this for the proxy.
    assert.equal((await arrived)[0].url, path)
    for (let sent = 1; sent < 32; sent++) if (!upload.write(block)) await once(upload, 'drain')
    upload.end()
    const [answer] = (await once(upload, 'response')) as [IncomingMessage]
    const text = await readText(answer)
    assert.equal(answer.statusCode, 200, text)
    assert.equal(JSON.parse(text).size, 32 * block.length)
  })

  test(`${name}: a preview is reached by its name, in both directions at once`, async () => {
    const port = 8000 + names.indexOf(name)
    const web = createServer((request, response) => {
      response.writeHead(200, { 'x-seen': String(request.headers['x-forwarded-for']) })
      response.flushHeaders()
      request.pipe(response)
    })
    server.guest(machine).ports.listen(port, (connection) => web.emit('connection', connection))
    const published = await server.call('POST', `/v1/machines/${machine}/ports`, {
      port,
      access: 'public',
    })
    const { host } = new URL(published.body.url as string)
    assert.match(host, /\.preview\.example\.com$/)
    const post = proxy.open(host, { method: 'POST', path: '/' })
    post.write('first')
    const [answer] = (await once(post, 'response')) as [IncomingMessage]
    assert.deepEqual([answer.statusCode, answer.headers['x-seen']], [200, clientAddress])
    assert.equal(String((await once(answer, 'data'))[0]), 'first')
    post.end('second')
    assert.equal(await readText(answer), 'second')
  })
}

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { HandshakeRefused, startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

/* R8: a page of another site cannot open a socket with a browser's cookie. */

const baseUrl = 'https://good.example'
const server = await startTestServer({ after }, { env: { COMPUTER_BASE_URL: baseUrl } })
const gateway = await startTestGateway({ after }, server.app)
const person = await server.signUp()
const cookie = person.cookie()!
const machine = await person.call('POST', '/v1/machines', {})
const { port } = new URL(gateway.origin)

const foreign: readonly (string | undefined)[] = [
  undefined,
  'null',
  '',
  'http://evil.example',
  'https://good.example.evil.example',
  'https://evil-good.example',
  'https://preview.good.example',
  'http://good.example',
  'https://good.example:8443',
  'https://GOOD.example',
  'https://good.example.',
  'https://good.example/',
  'https://user@good.example',
  'https://good.example, https://evil.example',
  'wss://good.example',
  `https://127.0.0.1:${port}`,
  `ws://127.0.0.1:${port}`,
  'http://127.0.0.1',
  `http://127.0.0.1:${Number(port) + 1}`,
  `http://localhost:${port}`,
]

const terminal = await person.call('POST', `/v1/machines/${machine.body.id}/terminals`, {})
const channels = [
  `/v1/machines/${machine.body.id}/screen`,
  `/v1/machines/${machine.body.id}/terminals/${terminal.body.id}`,
  `/v1/machines/${machine.body.id}/events`,
  '/v1/events',
]

for (const path of channels) {
  test(`${path.replace(/\w{3}_\w+/g, '{id}')}: the cookie works only from pages of this service`, async () => {
    for (const origin of foreign) {
      const headers = { cookie, ...(origin !== undefined && { origin }) }
      const error = await gateway.connect(path, { headers }).then(
        () => assert.fail(`it was opened from ${origin}`),
        (reason: unknown) => reason,
      )
      assert.ok(error instanceof HandshakeRefused, String(error))
      assert.deepEqual([error.status, error.body.error.code], [403, 'permission_denied'], origin)
    }
    for (const origin of [baseUrl, gateway.origin]) {
      await (await gateway.connect(path, { headers: { cookie, origin } })).close()
    }
  })
}

test('a name that leads here only now (DNS rebinding) cannot open a socket with the cookie', async () => {
  for (const host of [`evil.com:${port}`, `a.localhost:${port}`]) {
    const headers = { cookie, host, origin: `http://${host}` }
    await assert.rejects(gateway.connect('/v1/events', { headers }), { status: 403 })
  }
  const own = { cookie, host: `localhost:${port}`, origin: `http://localhost:${port}` }
  await (await gateway.connect('/v1/events', { headers: own })).close()
})

test('API keys and tokens need no Origin', async () => {
  const { body } = await server.call('POST', '/v1/machines', {})
  const authorization = `Bearer ${server.key}`
  for (const path of ['/v1/events', `/v1/machines/${body.id}/screen`]) {
    for (const origin of foreign) {
      const own = origin === undefined ? {} : { origin }
      await (await gateway.connect(path, { headers: { authorization, ...own } })).close()
      const token = (await server.call('POST', '/v1/gateway-tokens')).body.token
      const options = { headers: own, protocols: [`bearer.${token}`] }
      await (await gateway.connect(path, options)).close()
    }
  }
})

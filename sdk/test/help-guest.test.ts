import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { startServer } from './server.ts'

const origin = 'https://computer.example.com'
const server = await startServer({ after }, { env: { COMPUTER_ORIGINS: origin } })

/** A browser without an account: its requests and sockets have the cookies that it was given. */
function openBrowser() {
  const cookies = new Map<string, string>()
  const headers = () => ({
    cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
    origin,
  })
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const all = { ...Object.fromEntries(new Headers(init?.headers)), ...headers() }
    const response = await globalThis.fetch(url, { ...init, headers: all })
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(';')[0]!.split(/=(.*)/s)
      cookies.set(name!, value!)
    }
    return response
  }
  class BrowserSocket extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { headers: headers() })
    }
  }
  return server.connect({ apiKey: '', fetch, WebSocket: BrowserSocket }).helpGuest
}

test('somebody without an account spends a link, takes the screen and answers', async () => {
  const machine = await server.connect().machines.create()
  const { id, takeoverUrl } = await machine.helpRequests.create({
    reason: 'captcha',
    message: 'Please solve the puzzle.',
  })
  const token = new URL(takeoverUrl!).hash.slice(1)
  const guest = openBrowser()
  const redeemed = await guest.redeem(token)
  assert.deepEqual(
    [redeemed.message, redeemed.machine.name, redeemed.isTakenByGuest],
    ['Please solve the puzzle.', machine.name, false],
  )
  await assert.rejects(openBrowser().redeem(token))

  const { help, sessionId, lease } = await guest.take({ name: 'Ada' })
  assert.deepEqual([help.state, help.isTakenByGuest, help.sessionId], ['active', true, sessionId])
  const renewed = await guest.renew()
  assert.equal(renewed.acquiredAt, lease.acquiredAt)
  const { gatewayUrl } = server
  const shown = Promise.withResolvers<string>()
  const screen = await guest.screen({ sessionId, lease }, { gatewayUrl })
  const closed = new Promise<number>((resolve) => (screen.onclose = ({ code }) => resolve(code)))
  screen.onmessage = ({ data }) => shown.resolve(Buffer.from(data).toString())
  assert.equal(await shown.promise, 'RFB 003.008\n')
  const stranger = openBrowser().screen({ sessionId, lease }, { gatewayUrl })
  await assert.rejects(stranger, { code: 'connection_failed' })
  assert.equal((await guest.release()).state, 'open')
  assert.equal(await closed, 4410)
  await guest.take()
  assert.equal((await guest.get()).state, 'active')
  assert.equal((await guest.answer({ outcome: 'done' })).state, 'done')
  const { outcome, by } = await server.connect().helpRequests.waitForEnd(id)
  assert.deepEqual([outcome, by?.type], ['done', 'guest'])
})

test('a new link ends the access of earlier ones', async () => {
  const computer = server.connect()
  const machine = await computer.machines.create()
  const { id, takeoverUrl } = await machine.helpRequests.create({
    reason: 'captcha',
    message: 'Please solve the puzzle.',
  })
  const link = await computer.helpRequests.createLink(id)
  assert.notEqual(link.takeoverUrl, takeoverUrl)
  const tokenOf = (url: string) => new URL(url).hash.slice(1)
  await assert.rejects(openBrowser().redeem(tokenOf(takeoverUrl!)))
  assert.equal((await openBrowser().redeem(tokenOf(link.takeoverUrl))).state, 'open')
})

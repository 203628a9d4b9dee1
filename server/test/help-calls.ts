import { ownOrigin } from './browser.ts'
import { callWith, type Call } from './call.ts'
import type { TestServer } from './harness.ts'

/** A browser that spent a takeover link, as the guest's page does. */
export async function openLink(server: Pick<TestServer, 'http'>, takeoverUrl: string) {
  const token = new URL(takeoverUrl).hash.slice(1)
  const headers = { origin: ownOrigin }
  const redeemed = await callWith(server.http, headers)('POST', '/v1/help-guest/redeem', { token })
  const [cookie] = [redeemed.headers['set-cookie']].flat() as (string | undefined)[]
  const jar = { ...headers, ...(cookie !== undefined && { cookie: cookie.split(';', 1)[0]! }) }
  return { redeemed, headers: jar, call: callWith(server.http, jar) }
}

type Ask = () => Promise<{ help_request_id: string; takeoverUrl: string }>

/** Asks for help on a machine of its own, where nothing else waits or is taken. */
function asker(server: TestServer, call: Call): Ask {
  const machine = server.machine()
  return async () => {
    const { id } = await machine
    const waiting = `/v1/help-requests?machine_id=${id}&state=open&state=active`
    for (const help of (await call('GET', waiting)).body.data) {
      await call('POST', `/v1/help-requests/${help.id}/cancel`)
    }
    const wanted = { reason: 'login', message: 'Please sign in.' }
    const { body } = await call('POST', `/v1/machines/${id}/help-requests`, wanted)
    return { help_request_id: body.id, takeoverUrl: body.takeover_url }
  }
}

/** A valid call of every endpoint of help requests. */
export function helpRequests(server: TestServer, call: Call) {
  const ask = asker(server, call)
  const one = async () => ({ ids: { help_request_id: (await ask()).help_request_id } })
  const taken = async () => {
    const { ids } = await one()
    await call('POST', `/v1/help-requests/${ids.help_request_id}/take`)
    return { ids }
  }
  const wanted = { reason: 'login', message: 'Please sign in.' }
  return {
    create: async () => ({
      ids: { machine_id: (await server.machine({ start: false })).id },
      body: wanted,
    }),
    list: async () => ({}),
    get: one,
    take: one,
    release: taken,
    answer: async () => ({ ...(await taken()), body: { outcome: 'done' } }),
    cancel: one,
    link: one,
    picture: async () => ({ ...(await taken()), query: 'of=before' }),
  }
}

/** The same for the endpoints of guests, each with a guest of its own. */
export function helpGuestRequests(server: TestServer, call: Call) {
  const ask = asker(server, call)
  const guest = async () => ({ caller: (await openLink(server, (await ask()).takeoverUrl)).call })
  const taker = async () => {
    const { caller } = await guest()
    await caller('POST', '/v1/help-guest/take', {})
    return { caller }
  }
  return {
    redeem: async () => ({ body: { token: new URL((await ask()).takeoverUrl).hash.slice(1) } }),
    get: guest,
    take: async () => ({ ...(await guest()), body: { name: 'Ada' } }),
    renew: taker,
    release: taker,
    answer: async () => ({ ...(await taker()), body: { outcome: 'declined' } }),
  }
}

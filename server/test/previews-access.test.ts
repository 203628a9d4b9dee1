import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newId } from '../src/ids.ts'
import { eventually } from './settled.ts'
import { startTestPreviews, type Reply } from './preview-server.ts'

/* Access control of previews. */

const { publish, unpublish, listen, ask, server, previews } = await startTestPreviews(
  { after },
  { COMPUTER_DASHBOARD_URL: 'https://dashboard.example/' },
)
listen((_request, response) => response.end('seen'))
listen((_request, response) => response.end('sibling'), { port: 81 })
const { db } = server.app
const html = { accept: 'text/html,*/*', 'sec-fetch-mode': 'navigate' }

test('a private preview opens with its own secret and nothing else', async () => {
  const [one, other] = [await publish(), await publish({ port: 81 })]
  const statusBy = async (headers: Record<string, string>) =>
    (await ask(one.host, '/', { headers })).status
  assert.equal(await statusBy({ authorization: `Bearer ${one.secret}` }), 200)
  assert.equal(await statusBy({ authorization: `bearer  ${one.secret}` }), 200)
  assert.equal(await statusBy({ 'x-preview-secret': one.secret! }), 200)
  const wrong = [
    other.secret!,
    one.secret!.slice(0, -1),
    `${one.secret}x`,
    one.secret!.toUpperCase(),
    server.key,
    '',
    'x',
    `computer_preview_${'A'.repeat(43)}`,
  ]
  for (const secret of wrong) {
    assert.equal(await statusBy({ authorization: `Bearer ${secret}` }), 401, secret)
    assert.equal(await statusBy({ 'x-preview-secret': secret }), 401, secret)
    assert.equal(await statusBy({ cookie: `__Host-computer_preview=${secret}` }), 401, secret)
  }
  const { status, headers, text } = await ask(one.host)
  assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'])
  assert.doesNotMatch(text, /prv_|mch_|org_|seen/)
  assert.equal((await ask(one.host, `/?token=${one.secret}`)).status, 401)
})

test('a link works once: of fifty concurrent uses one gets the cookie', async () => {
  const { host, access_url: url } = await publish({ port: 1000 })
  listen((_request, response) => response.end('seen'), { port: 1000 })
  const { pathname, search } = new URL(url!)
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => ask(host, pathname + search, { headers: html })),
  )
  const won = answers.filter(({ status }) => status === 303)
  assert.deepEqual([won.length, answers.filter(({ status }) => status === 401).length], [1, 49])
  const [winner] = won as [Reply]
  assert.equal(winner.headers['location'], '/')
  assert.equal(winner.headers['referrer-policy'], 'no-referrer')
  assert.match(
    cookiesOf(winner)[0]!,
    /^__Host-computer_preview=computer_preview_cookie_[\w-]{43}; Path=\/; Max-Age=604800; Secure; HttpOnly; SameSite=Lax$/,
  )
  const cookie = pairOf(winner)
  assert.equal((await ask(host, '/', { headers: { cookie } })).text, 'seen')
  assert.equal((await ask(host, pathname + search, { headers: { cookie } })).status, 303)
  const planted = `${cookie}; ${cookie}x`
  assert.equal((await ask(host, '/', { headers: { cookie: planted } })).status, 401)
})

test('links and cookies work for one host until they expire, and end with the preview', async () => {
  const [one, other] = [await publish({ port: 1001 }), await publish({ port: 1002 })]
  listen((_request, response) => response.end('seen'), { port: 1001 })
  const { pathname, search } = new URL(one.access_url!)
  assert.equal((await ask(other.host, pathname + search)).status, 401)
  const cookie = pairOf(await ask(one.host, pathname + search))
  assert.equal((await ask(other.host, '/', { headers: { cookie } })).status, 401)
  assert.equal((await ask(one.host, '/', { headers: { cookie } })).status, 200)

  const late = new URL(other.access_url!)
  await db
    .updateTable('preview_links')
    .set({ expires_at: new Date(0) })
    .execute()
  assert.equal((await ask(other.host, late.pathname + late.search)).status, 401)

  await unpublish(one.id)
  await comes(404, () => ask(one.host, '/', { headers: { cookie } }))
  const again = await publish({ port: 1001 })
  assert.equal((await ask(again.host, '/', { headers: { cookie } })).status, 401)
})

test('nothing below the reserved path reaches a guest', async () => {
  const { host } = await publish({ port: 1003, access: 'public' })
  listen((_request, response) => response.end('seen'), { port: 1003 })
  for (const path of [
    '/.computer/',
    '/.computer/access',
    '/.computer/x?y',
    '/.computer/access/z',
  ]) {
    assert.notEqual((await ask(host, path)).text, 'seen', path)
  }
  assert.equal((await ask(host, '/.computer/access')).headers['location'], '/')
})

test('a member in a browser is redirected through the service and back to the requested path', async () => {
  const person = await server.signUp()
  const { host, id } = await publish({ port: 1004 })
  listen((request, response) => response.end(`seen ${request.url}`), { port: 1004 })
  await join(person.id)

  const first = await ask(host, '/a?b=c', { headers: html })
  assert.equal(first.status, 303)
  const exchange = new URL(String(first.headers['location']))
  assert.equal(exchange.origin + exchange.pathname, 'https://computer.example/v1/preview-exchange')
  const browser = pairOf(first)
  const back = await exchangeBy(person.cookie()!, exchange)
  assert.equal(back.status, 303)
  const link = new URL(String(back.headers['location']))
  assert.equal(link.host, host)

  // The link does not work in another browser.
  assert.equal((await ask(host, link.pathname + link.search)).status, 401)
  const opened = await ask(host, link.pathname + link.search, { headers: { cookie: browser } })
  assert.deepEqual([opened.status, opened.headers['location']], [303, '/a?b=c'])
  const cookie = pairOf(opened)
  assert.equal((await ask(host, '/a?b=c', { headers: { cookie } })).text, 'seen /a?b=c')
  assert.equal(
    (await ask(host, link.pathname + link.search, { headers: { cookie: browser } })).status,
    401,
  )

  // The cookie depends on their sign-in and on their membership.
  await db
    .deleteFrom('memberships')
    .where('user_id', '=', person.id)
    .where('organization_id', '=', await home())
    .execute()
  server.app.principals.invalidate()
  await comes(401, () => ask(host, '/', { headers: { cookie } }))
  await join(person.id)
  await comes(200, () => ask(host, '/', { headers: { cookie } }))
  await person.call('POST', '/v1/auth/logout')
  await comes(401, () => ask(host, '/', { headers: { cookie } }))
  assert.ok(id)
})

test('the redirect through the service never leads to another host', async () => {
  const person = await server.signUp()
  const { host, label } = withLabel(await publish({ port: 1005 }))
  const hash = 'A'.repeat(43)
  const at = (query: Record<string, string>) =>
    new URL(`https://computer.example/v1/preview-exchange?${new URLSearchParams(query).toString()}`)
  const good = at({ preview: label, browser: hash, path: '/' })
  const stranger = await exchangeBy(person.cookie()!, good)
  const unknown = at({ preview: '0'.repeat(26), browser: hash, path: '/' })
  const never = await exchangeBy(person.cookie()!, unknown)
  assert.deepEqual([stranger.status, never.status], [404, 404])
  assert.equal(stranger.bytes.toString(), never.bytes.toString())
  // Who is not signed in is sent to the sign-in, and from there here again: to a path, on no other host.
  for (const preview of [label, '0'.repeat(26)]) {
    const query = { preview, browser: hash, path: '//evil.example/a?b="c&d=e' }
    const signedOut = await exchangeBy('', at(query))
    assert.equal(signedOut.status, 303)
    assert.equal(signedOut.headers['cache-control'], 'no-store')
    const signIn = new URL(String(signedOut.headers['location']))
    assert.equal(signIn.origin + signIn.pathname, 'https://dashboard.example/login')
    assert.deepEqual([...signIn.searchParams.keys()], ['next'])
    const next = signIn.searchParams.get('next')!
    assert.ok(next.startsWith('/v1/preview-exchange?'), next)
    assert.deepEqual(Object.fromEntries(new URL(next, 'https://a.example').searchParams), query)
  }
  const byKey = await server.call('GET', good.pathname + good.search)
  assert.match(String(byKey.headers['location']), /^https:\/\/dashboard\.example\/login\?next=/)

  await join(person.id)
  assert.equal((await exchangeBy(person.cookie()!, good, { 'sec-fetch-mode': 'cors' })).status, 404)
  const wrong = [
    { preview: 'evil.example', browser: hash, path: '/' },
    { preview: label, browser: '', path: '/' },
    { preview: label.toUpperCase(), browser: hash, path: '/' },
    { preview: `${label}.evil.example`, browser: hash, path: '/' },
    { preview: label, browser: hash, path: '/', host: 'evil.example' },
  ]
  for (const query of wrong) {
    assert.equal((await exchangeBy(person.cookie()!, at(query))).status, 404, JSON.stringify(query))
  }
  const paths = [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '\r\nx: y',
    '/\t/evil',
    '',
    '/.computer/access?x',
    '/#a',
  ]
  for (const path of paths) {
    const first = await ask(host, '/', { headers: html })
    const exchange = new URL(String(first.headers['location']))
    exchange.searchParams.set('path', path)
    const link = new URL(String((await exchangeBy(person.cookie()!, exchange)).headers['location']))
    assert.equal(link.host, host)
    const opened = await ask(host, link.pathname + link.search, {
      headers: { cookie: pairOf(first) },
    })
    assert.deepEqual([opened.status, opened.headers['location']], [303, '/'], path)
  }
})

test('requests are recorded, and every byte served is counted exactly once', async () => {
  const preview = await publish({ port: 1007, access: 'public' })
  const at = `/v1/machines/${preview.machine_id}/ports/${preview.id}`
  await previews.traffic.flush()
  const before = await counted()
  listen((_request, response) => response.end('x'.repeat(1_000)), { port: 1007 })
  for (let round = 0; round < 7; round++) await ask(preview.host)
  await previews.traffic.flush()
  assert.equal((await counted()) - before, 7_000)
  assert.match((await server.call('GET', at)).body.last_request_at, /^20/)
  await previews.traffic.flush()
  assert.equal((await counted()) - before, 7_000)
})

async function counted(): Promise<number> {
  const rows = await db.selectFrom('egress_counts').select('bytes').execute()
  return rows.reduce((sum, { bytes }) => sum + bytes, 0)
}

async function exchangeBy(cookie: string, url: URL, headers: Record<string, string> = {}) {
  return server.anonymous('GET', url.pathname + url.search, undefined, {
    ...(cookie && { cookie }),
    ...headers,
  })
}

async function home() {
  const row = await db.selectFrom('machines').select('organization_id').executeTakeFirstOrThrow()
  return row.organization_id
}

async function join(userId: `usr_${string}`): Promise<void> {
  const membership = { organization_id: await home(), user_id: userId, role: 'member' as const }
  await db
    .insertInto('memberships')
    .values({ id: newId('mem'), ...membership })
    .execute()
}

/** Asks until the status is the answer. A request that is under way when access ends is cut off. */
async function comes(status: number, ask: () => Promise<Reply>): Promise<void> {
  await eventually(async () => {
    const reply = await ask().catch((error: NodeJS.ErrnoException) => {
      assert.equal(error.code, 'ECONNRESET')
    })
    return reply?.status === status || undefined
  })
}

function withLabel(preview: Awaited<ReturnType<typeof publish>>) {
  return { ...preview, label: preview.host.split('.')[0]! }
}

function cookiesOf({ headers }: Reply): string[] {
  return [headers['set-cookie'] ?? []].flat()
}

function pairOf(reply: Reply): string {
  return cookiesOf(reply)[0]!.split(';')[0]!
}

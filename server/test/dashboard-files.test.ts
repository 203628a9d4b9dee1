import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { createApi } from '../src/api/server.ts'
import { callWith } from './call.ts'
import { startTestServer } from './harness.ts'

/* The dashboard as the API serves it: a folder of files, and one document for all paths of pages. */

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const document = '<!doctype html><script type="module" src="/assets/main-1a2b.js"></script>'
const script = 'console.log("the dashboard")'
const encoded = { 'accept-encoding': 'gzip, deflate, br, zstd' }

const parent = await mkdtemp(join(tmpdir(), 'computer-dashboard-'))
after(() => rm(parent, { recursive: true, force: true }))
await writeFile(join(parent, 'secret.txt'), 'a secret')
const dashboardDir = join(parent, 'dist')
await write('index.html', document)
await write('index.html.br', brotliCompressSync(document))
await write('index.html.gz', gzipSync(document))
await write('assets/main-1a2b.js', script)
await write('assets/main-1a2b.js.br', brotliCompressSync(script))
await write('assets/main-1a2b.js.gz', gzipSync(script))
await write('assets/main-1a2b.js.map', '{}')
await write('assets/main-1a2b.css', 'body{}')
await write('assets/sans-1a2b.woff2', 'a font')
await write('favicon.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')
await write('icon.png', 'a picture')
await write('licenses.txt', 'MIT')
await write('theme.js', 'light()')
await write('build.json', '{}')
await write('.previous/assets.txt', 'main-0000.js')
await symlink(join(parent, 'secret.txt'), join(dashboardDir, 'linked.txt'))

const server = await startTestServer({ after }, { worker: false })
const http = createApi(server.app, { dashboardDir })
after(() => http.close())
const get = (path: string, headers: Record<string, string> = {}) =>
  callWith(http, {})('GET', path, undefined, headers)

test('every path of a page gets the document, which is asked for again each time', async () => {
  for (const path of [
    '/',
    '/?view=list',
    '/m/mch_1/files',
    '/login?next=%2F',
    '/members',
    '/x.y',
  ]) {
    const { status, headers, bytes } = await get(path, html)
    assert.equal(status, 200, path)
    assert.equal(bytes.toString(), document)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(headers['vary'], 'accept, accept-encoding')
    const etag = String(headers['etag'])
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get(path, { ...html, 'if-none-match': known })
      assert.deepEqual([again.status, again.bytes.length], [304, 0], known)
      assert.equal(again.headers['etag'], etag)
    }
    assert.equal((await get(path, { ...html, 'if-none-match': '"other"' })).status, 200)
  }
})

test('the page may load from its own server, and connect to the gateway as well', async (t) => {
  const policyOf = async (env: Readonly<Record<string, string>>) => {
    const { app } = await startTestServer(t, { worker: false, env })
    const other = createApi(app, { dashboardDir })
    t.after(() => other.close())
    const { headers } = await callWith(other, {})('GET', '/', undefined, html)
    return String(headers['content-security-policy']).split('; ')
  }
  const policy = await policyOf({})
  assert.deepEqual(policy, [
    "default-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data: blob:",
    "worker-src 'none'",
    "manifest-src 'self'",
    "connect-src 'self' ws://127.0.0.1:7081",
  ])
  const apart = await policyOf({ COMPUTER_GATEWAY_URL: 'wss://gateway.example.com/real-time' })
  assert.equal(apart.at(-1), "connect-src 'self' wss://gateway.example.com")
  const { headers } = await get('/theme.js')
  assert.equal(headers['content-security-policy'], policy.slice(0, 4).join('; '))
  assert.equal(headers['x-content-type-options'], 'nosniff')
})

test('assets are kept for good by caches, other files are asked for again', async () => {
  const immutable = 'public, max-age=31536000, immutable'
  const files = [
    ['/assets/main-1a2b.js', 'text/javascript; charset=utf-8', immutable],
    ['/assets/main-1a2b.css', 'text/css; charset=utf-8', immutable],
    ['/assets/sans-1a2b.woff2', 'font/woff2', immutable],
    ['/favicon.svg', 'image/svg+xml', 'no-cache'],
    ['/icon.png', 'image/png', 'no-cache'],
    ['/licenses.txt', 'text/plain; charset=utf-8', 'no-cache'],
    ['/theme.js', 'text/javascript; charset=utf-8', 'no-cache'],
  ] as const
  for (const [path, type, caching] of files) {
    // A person who opens the file's address gets the file too.
    for (const accept of ['*/*', html.accept]) {
      const { status, headers, bytes } = await get(path, { accept })
      assert.deepEqual([status, headers['content-type']], [200, type], path)
      assert.deepEqual([headers['cache-control'], headers['vary']], [caching, 'accept-encoding'])
      assert.equal(Number(headers['content-length']), bytes.length)
      const again = await get(path, { 'if-none-match': String(headers['etag']) })
      assert.equal(again.status, 304, path)
    }
  }
})

test('files are sent in the best encoding that the caller accepts', async () => {
  const cases = [
    [encoded['accept-encoding'], 'br'],
    ['gzip;q=1.0, br;q=0.5', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['BR', 'br'],
    ['gzip;q=0.000', undefined],
    ['deflate', undefined],
    ['', undefined],
  ] as const
  const etags = new Map<unknown, unknown>()
  for (const [accepted, encoding] of cases) {
    const { headers, bytes } = await get('/assets/main-1a2b.js', { 'accept-encoding': accepted })
    assert.equal(headers['content-encoding'], encoding, accepted)
    assert.equal(decode(bytes, encoding), script)
    etags.set(encoding, headers['etag'])
  }
  // Each encoding is a representation of its own.
  assert.equal(new Set(etags.values()).size, 3)
  const page = await get('/m/mch_1', { ...html, ...encoded })
  assert.deepEqual([page.headers['content-encoding'], decode(page.bytes, 'br')], ['br', document])
  const css = await get('/assets/main-1a2b.css', encoded)
  assert.deepEqual([css.headers['content-encoding'], css.bytes.toString()], [undefined, 'body{}'])
})

test('HEAD gets the same headers without the content', async () => {
  for (const path of ['/', '/m/mch_1', '/assets/main-1a2b.js', '/favicon.svg']) {
    const whole = await get(path, { ...html, ...encoded })
    const head = await callWith(http, {})('HEAD', path, undefined, { ...html, ...encoded })
    assert.deepEqual([head.status, head.bytes.length], [200, 0])
    for (const name of ['content-type', 'content-length', 'content-encoding', 'etag', 'vary']) {
      assert.equal(head.headers[name], whole.headers[name], `${name} of ${path}`)
    }
  }
})

test('only the files of the folder are served, under exactly one path each', async () => {
  const absent = [
    '/index.html',
    '/index.html.br',
    '/assets/main-1a2b.js.gz',
    '/assets/main-1a2b.js.map',
    '/assets/main-0000.js',
    '/assets/',
    '/assets',
    '/build.json',
    '/.previous/assets.txt',
    '/linked.txt',
    '/secret.txt',
    '/../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/assets/../../secret.txt',
    '/assets/..%5c..%5csecret.txt',
    '/assets//main-1a2b.js',
    '/assets/%6dain-1a2b.js',
    '/constructor',
    '/__proto__',
  ]
  for (const path of absent) {
    const { status, body } = await get(path, { accept: '*/*' })
    assert.deepEqual([status, body?.error.code], [404, 'not_found'], path)
  }
  // The client resolves dots before it sends; the next test sends them.
  for (const path of absent.filter((one) => /^\/assets(?!.*\.\.\/)/.test(one))) {
    const { status, headers, body } = await get(path, html)
    assert.deepEqual([status, body?.error.code], [404, 'not_found'], path)
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('raw request lines reach nothing outside the folder', async () => {
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  for (const target of [
    '/../secret.txt',
    '/assets/../../secret.txt',
    '//secret.txt',
    '/..\\secret.txt',
    '/%00',
    `${parent}/secret.txt`,
    'http://x/../secret.txt',
    '*',
  ]) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.end(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    const answer = await text(socket)
    assert.match(answer, /^HTTP\/1\.1 40[04] /, target)
    assert.doesNotMatch(answer, /a secret/)
  }
})

test('paths of the API keep their errors, whatever a browser accepts', async () => {
  for (const [method, path] of [
    ['GET', '/v1/nothing'],
    ['GET', '/v1'],
    ['GET', '/V1/machines'],
    ['GET', '/v2/machines'],
    ['GET', '/v1/auth/login'],
    ['HEAD', '/v1/machines'],
    ['GET', '/machines/mch_1'],
    ['GET', '/machines'],
    ['GET', '/docs/nothing'],
    ['GET', '/downloads/nothing'],
    ['GET', '/downloads'],
    ['GET', '/install.sh/nothing'],
    ['GET', '/healthz/nothing'],
    ['GET', '/readyz/nothing'],
    ['POST', '/'],
    ['POST', '/login'],
    ['DELETE', '/assets/main-1a2b.js'],
  ] as const) {
    const { status, headers, body } = await callWith(http, {})(method, path, undefined, html)
    assert.equal(status, 404, path)
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.equal(
      headers['content-security-policy'],
      (await get('/healthz')).headers['content-security-policy'],
    )
    if (method !== 'HEAD') assert.equal(body.error.code, 'not_found')
  }
  const machines = await get('/v1/machines', html)
  assert.deepEqual([machines.status, machines.body.error.code], [401, 'unauthenticated'])
  const long = await get(`/v1/machines/${'a'.repeat(300)}`, html)
  assert.deepEqual([long.status, long.body.error.code], [400, 'invalid_request'])
  assert.equal((await get('/%zz', html)).status, 400)
})

test('a program that asks for no page gets the error of the API', async () => {
  for (const path of ['/', '/m/mch_1', '/login']) {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const { status, body, headers: answered } = await get(path, headers)
      assert.deepEqual([status, body.error.code], [404, 'not_found'], path)
      assert.equal(answered['vary'], 'accept')
    }
  }
})

test('a server whose dashboard is not built says so to a person', async (t) => {
  const bare = createApi(server.app, { dashboardDir: '/nonexistent' })
  t.after(() => bare.close())
  const call = callWith(bare, {})
  const page = await call('GET', '/m/mch_1', undefined, html)
  assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
  assert.equal(page.headers['cache-control'], 'no-cache')
  assert.match(page.bytes.toString(), /<h1>Computer<\/h1>[\s\S]*npm run setup/)
  const links = [...page.bytes.toString().matchAll(/href="([^"]+)"/g)].map(([, path]) => path!)
  assert.ok(links.includes('/docs'))
  for (const path of links) assert.equal((await call('GET', path)).status, 200, path)
  const program = await call('GET', '/', undefined, { accept: '*/*' })
  assert.deepEqual([program.status, program.body.error.code], [404, 'not_found'])
  assert.equal((await call('GET', '/assets/main-1a2b.js', undefined, html)).status, 404)
})

async function write(name: string, content: string | Buffer): Promise<void> {
  const path = join(dashboardDir, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
}

function decode(bytes: Buffer, encoding: 'br' | 'gzip' | undefined): string {
  if (encoding === undefined) return bytes.toString()
  return (encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString()
}

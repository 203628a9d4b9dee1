import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { id } = await server.machine()
const content = `/v1/machines/${id}/files/content`

/** As a browser follows a link. */
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const download = (path: string, headers: Record<string, string> = {}) =>
  server.call('GET', `${content}?path=${encodeURIComponent(path)}&download=true`, undefined, {
    ...html,
    ...headers,
  })

test('a browser that follows a link saves the bytes and never shows them', async () => {
  const bytes = randomBytes(5 * 1024 * 1024)
  await server.call('PUT', `${content}?path=site/page.html`, bytes)
  const { status, headers, bytes: received } = await download('site/page.html')
  assert.deepEqual([status, received.equals(bytes)], [200, true])
  assert.equal(headers['content-type'], 'application/octet-stream')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['content-length'], String(bytes.length))
  assert.equal(
    headers['content-disposition'],
    `attachment; filename="page.html"; filename*=UTF-8''page.html`,
  )
  const rest = await download('site/page.html', { range: 'bytes=4000000-' })
  assert.deepEqual([rest.status, rest.bytes.equals(bytes.subarray(4_000_000))], [206, true])
})

test('the name that a file is saved under has no character that a header or file system reads', async () => {
  for (const [name, plain, encoded] of [
    ['Grüße 漢.txt', 'Gr__e _.txt', 'Gr%C3%BC%C3%9Fe%20%E6%BC%A2.txt'],
    ['a"; b=\\c', 'a_; b=_c', 'a_%3B%20b%3D_c'],
    ['one\r\ntwo', 'one__two', 'one__two'],
    ['invoice\u202egpj.exe', 'invoice_gpj.exe', 'invoice_gpj.exe'],
    ["50% (it's)", "50_ (it's)", '50%25%20%28it%27s%29'],
  ] as const) {
    await server.call('PUT', content, { path: `names/${name}`, content: 'x' })
    const { status, headers } = await download(`names/${name}`)
    assert.deepEqual(
      [status, headers['content-disposition']],
      [200, `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`],
    )
  }
})

test('a download that is refused has the error of the API and no name', async () => {
  for (const [path, status, code] of [
    ['nowhere', 404, 'not_found'],
    ['/home', 400, 'invalid_request'],
    ['/run/computer/agent.sock', 403, 'permission_denied'],
  ] as const) {
    const refused = await download(path)
    assert.deepEqual([refused.status, refused.body.error.code], [status, code])
    assert.equal(refused.headers['content-disposition'], undefined)
  }
  const read = await server.call('GET', `${content}?path=a&download=false`)
  assert.equal(read.status, 404)
  assert.equal((await server.call('GET', `${content}?path=a&download=yes`)).status, 400)
})

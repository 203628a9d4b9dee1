import { ErrorEnvelope, type MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { GuestUnavailable } from '../src/guest/errors.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { id } = await server.machine()
const content = `/v1/machines/${id}/files/content`
const bytes = { accept: 'application/octet-stream' }

test('text is written and read back, with its path, size and eof', async () => {
  const path = 'täst/漢 file.txt'
  const text = 'one\ntwo é漢🙂\n'
  const written = await server.call('PUT', content, { path, content: text })
  const size = Buffer.byteLength(text)
  assert.deepEqual([written.status, written.body], [200, { path: `/home/agent/${path}`, size }])
  const read = await server.call('GET', `${content}?path=${encodeURIComponent(path)}`)
  assert.deepEqual(read.body, {
    path: `/home/agent/${path}`,
    content: text,
    encoding: 'utf8',
    offset: 0,
    length: size,
    size,
    eof: true,
  })
})

test('a utf8 range ends before a character it would cut, and the next begins with it', async () => {
  const text = 'aé漢🙂b'
  await write('cut.txt', text)
  for (const length of [4, 5, 6, 7]) assert.equal((await readAll('cut.txt', length)).text, text)
  const { body } = await server.call('GET', `${content}?path=cut.txt&length=5`)
  assert.deepEqual([body.content, body.length, body.eof], ['aé', 3, false])
  const short = await server.call('GET', `${content}?path=cut.txt&offset=3&length=2`)
  assert.deepEqual([short.status, short.body.error.details[0].field], [400, 'length'])
  const nothing = await server.call('GET', `${content}?path=cut.txt&length=0`)
  assert.deepEqual([nothing.body.content, nothing.body.eof], ['', false])
})

test('invalid UTF-8 is refused as utf8 and read as base64', async () => {
  const data = Buffer.from([0xff, 0xfe, 0, 0x80])
  const written = await server.call('PUT', content, {
    path: 'raw.bin',
    content: data.toString('base64'),
    encoding: 'base64',
  })
  assert.equal(written.body.size, 4)
  const refused = await server.call('GET', `${content}?path=raw.bin`)
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'])
  assert.match(refused.body.error.message, /base64/)
  const read = await server.call('GET', `${content}?path=raw.bin&encoding=base64`)
  assert.equal(read.body.content, data.toString('base64'))
  await write('bom.txt', '\ufefftext')
  assert.equal((await readAll('bom.txt', 4)).text, '\ufefftext')
})

test('a loop over ranges of at most 4 MiB ends on eof with the whole file', async () => {
  const data = randomBytes(9 * 1024 * 1024)
  const uploaded = await server.call('PUT', `${content}?path=big.bin`, data)
  assert.deepEqual([uploaded.status, uploaded.body.size], [200, data.length])
  const read: Buffer[] = []
  for (let offset = 0, eof = false; !eof;) {
    const path = `${content}?path=big.bin&encoding=base64&offset=${offset}`
    const { body } = await server.call('GET', path)
    read.push(Buffer.from(body.content, 'base64'))
    offset += body.length
    eof = body.eof
  }
  assert.deepEqual([read.length, Buffer.concat(read).equals(data)], [3, true])
  const past = await server.call('GET', `${content}?path=big.bin&offset=99999999`)
  assert.deepEqual([past.body.content, past.body.eof, past.body.length], ['', true, 0])
  assert.equal((await server.call('GET', `${content}?path=big.bin&length=4194305`)).status, 400)

  const whole = await server.call('GET', `${content}?path=big.bin`, undefined, bytes)
  assert.deepEqual([whole.status, whole.bytes.equals(data)], [200, true])
})

test('the bytes form honours a range', async () => {
  await write('ten.txt', '0123456789')
  const get = (range: string) =>
    server.call('GET', `${content}?path=ten.txt`, undefined, { ...bytes, range })
  for (const [range, text, where] of [
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=3-', '3456789', 'bytes 3-9/10'],
    ['bytes=9-99', '9', 'bytes 9-9/10'],
  ] as const) {
    const part = await get(range)
    assert.deepEqual([part.status, part.bytes.toString()], [206, text])
    assert.equal(part.headers['content-range'], where)
    assert.equal(part.headers['content-length'], String(text.length))
    assert.equal(part.headers['content-type'], 'application/octet-stream')
  }
  for (const range of ['bytes=10-', 'bytes=99-100']) {
    const beyond = await get(range)
    assert.deepEqual([beyond.status, beyond.body.error.code], [416, 'invalid_request'])
    assert.equal(beyond.headers['content-range'], 'bytes */10')
  }
  for (const range of ['bytes=5-4', 'bytes=-3', 'bytes=0-1,3-4', 'x']) {
    const refused = await get(range)
    assert.deepEqual([refused.status, refused.body.error.details[0].field], [400, 'range'], range)
  }
  const offset = await server.call('GET', `${content}?path=ten.txt&offset=8`, undefined, bytes)
  assert.deepEqual([offset.status, offset.bytes.toString()], [200, '89'])
  const past = await server.call('GET', `${content}?path=ten.txt&offset=50`, undefined, bytes)
  assert.deepEqual([past.status, past.headers['content-length'], past.bytes.length], [200, '0', 0])
})

test('the bytes form of an empty file is empty, whatever the offset', async () => {
  await write('empty', '')
  for (const query of ['', '&offset=5']) {
    const read = await server.call('GET', `${content}?path=empty${query}`, undefined, bytes)
    assert.deepEqual([read.status, read.bytes.length], [200, 0])
  }
})

test('a download that fails before its first byte answers compute_unavailable', async (t) => {
  t.mock.method(server.app.guests, 'readFile', async () => ({
    path: '/home/agent/f',
    size: 10,
    stream: new Readable({
      read() {
        this.destroy(new GuestUnavailable("the machine's answer broke off", { sent: true }))
      },
    }),
  }))
  for (const headers of [bytes, { ...bytes, range: 'bytes=2-4' }]) {
    const failed = await server.call('GET', `${content}?path=f`, undefined, headers)
    assert.equal(failed.status, 503)
    assert.match(String(failed.headers['content-type']), /^application\/json/)
    assert.equal(failed.headers['content-range'], undefined)
    const { error } = ErrorEnvelope.parse(failed.body)
    assert.equal(error.code, 'compute_unavailable')
  }
})

test('a write can append, set the mode and create parents', async () => {
  await server.call('PUT', content, { path: 'log/a', content: '1', mode: '600' })
  await server.call('PUT', content, { path: 'log/a', content: '2', append: true })
  await server.call('PUT', `${content}?path=log/a&append=true`, Buffer.from('3'))
  assert.equal((await readAll('log/a', 100)).text, '123')
  const { body } = await server.call('GET', `/v1/machines/${id}/files?path=log`)
  const { modified_at, ...entry } = body.data[0]
  assert.ok(Date.parse(modified_at))
  assert.deepEqual(entry, {
    name: 'a',
    path: '/home/agent/log/a',
    type: 'file',
    size: 3,
    mode: '0600',
    owner: 'agent',
    target: null,
  })
  const lone = { path: 'nowhere/a', content: '', create_parents: false }
  assert.equal((await server.call('PUT', content, lone)).status, 404)
  const query = `${content}?path=nowhere/a&create_parents=false`
  assert.equal((await server.call('PUT', query, Buffer.from(''))).status, 404)
})

test('writes outside the contract are refused, and the error names the field', async () => {
  const path = 'bad'
  for (const [body, field] of [
    [{ content: '' }, 'path'],
    [{ path: '', content: '' }, 'path'],
    [{ path: 'a\0b', content: '' }, 'path'],
    [{ path }, 'content'],
    [{ path, content: 'x', mode: '999' }, 'mode'],
    [{ path, content: 'x', mode: '14755' }, 'mode'],
    [{ path, content: 'x', encoding: 'latin1' }, 'encoding'],
    [{ path, content: 'no base64!', encoding: 'base64' }, 'content'],
    [{ path, content: '\ud800' }, 'content'],
    [{ path, content: 'x', user: 'root' }, 'user'],
  ] as const) {
    const { status, body: answer } = await server.call('PUT', content, body)
    assert.deepEqual([status, answer.error.details?.[0].field], [400, field], JSON.stringify(body))
  }
  for (const query of ['', '?path=a&append=yes', '?path=a&owner=root']) {
    const refused = await server.call('PUT', `${content}${query}`, Buffer.from('x'))
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'], query)
  }
  assert.equal((await server.call('GET', `${content}?path=${path}`)).status, 404)
})

test('a directory is listed in pages, by name', async () => {
  const names = Array.from({ length: 7 }, (_, index) => `${index} ü.txt`)
  for (const name of names) await write(`many/${name}`, 'x')
  const seen: string[] = []
  let cursor = ''
  do {
    const path = `/v1/machines/${id}/files?path=many&limit=3${cursor && `&cursor=${cursor}`}`
    const { body } = await server.call('GET', path)
    assert.equal(body.path, '/home/agent/many')
    assert.equal(body.has_more, body.next_cursor !== null)
    seen.push(...body.data.map((entry: { name: string }) => entry.name))
    cursor = body.next_cursor ?? ''
  } while (cursor)
  assert.deepEqual(seen, names)
  const home = await server.call('GET', `/v1/machines/${id}/files?limit=100`)
  assert.equal(home.body.path, '/home/agent')
  for (const query of ['limit=0', 'limit=101', 'cursor=Lw', 'cursor=', 'sort=size']) {
    assert.equal((await server.call('GET', `/v1/machines/${id}/files?${query}`)).status, 400, query)
  }
})

test('missing files, directories and denied paths are refused', async () => {
  for (const [path, status, code] of [
    ['/nowhere', 404, 'not_found'],
    ['/home', 400, 'invalid_request'],
    ['/run/computer/agent.sock', 403, 'permission_denied'],
    ['/tmp/../opt/computer/agent.js', 403, 'permission_denied'],
  ] as const) {
    for (const headers of [{}, bytes]) {
      const read = await server.call('GET', `${content}?path=${path}`, undefined, headers)
      assert.deepEqual([read.status, read.body.error.code], [status, code], path)
    }
  }
  const denied = { path: '/opt/computer/x', content: '' }
  assert.equal((await server.call('PUT', content, denied)).status, 403)
  assert.equal((await server.call('PUT', content, { path: '/home', content: '' })).status, 400)
})

test('a file is removed, and a directory that is not empty only with recursive', async () => {
  await write('old/deep/a.txt', 'x')
  const remove = (path: string, rest = '') =>
    server.call('DELETE', `/v1/machines/${id}/files?path=${path}${rest}`)
  const refused = await remove('old')
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  const removed = await remove('old/deep/a.txt')
  assert.deepEqual([removed.status, removed.bytes.length], [204, 0])
  assert.equal((await remove('old/deep/a.txt')).status, 404)
  assert.equal((await remove('old/deep')).status, 204)
  await write('old/again/a.txt', 'x')
  assert.equal((await remove('old', '&recursive=true')).status, 204)
  assert.equal((await server.call('GET', `/v1/machines/${id}/files?path=old`)).status, 404)
  for (const [path, status] of [
    ['/', 400],
    ['/home/agent', 400],
    ['.', 400],
    ['/home', 400],
    ['/run/computer/agent.sock', 403],
    ['', 400],
  ] as const) {
    assert.equal((await remove(path, '&recursive=true')).status, status, path)
  }
  assert.equal((await remove('a', '&recursive=yes')).status, 400)
})

test('a move renames a file, and replaces another only with overwrite', async () => {
  await write('from.txt', 'new')
  await write('to.txt', 'old')
  const move = (body: object) => server.call('POST', `/v1/machines/${id}/files/move`, body)
  const taken = await move({ from: 'from.txt', to: 'to.txt' })
  assert.deepEqual([taken.status, taken.body.error.code], [409, 'conflict'])
  const moved = await move({ from: 'from.txt', to: 'to.txt', overwrite: true })
  assert.deepEqual([moved.status, moved.body], [200, { path: '/home/agent/to.txt' }])
  assert.equal((await readAll('to.txt', 10)).text, 'new')
  assert.equal((await move({ from: 'from.txt', to: 'b' })).status, 404)
  assert.equal((await move({ from: 'to.txt', to: 'nowhere/b' })).status, 404)
  assert.equal((await move({ from: 'to.txt', to: '/run/computer/x' })).status, 403)
  assert.equal((await move({ from: '/home/agent', to: '/tmp/x' })).status, 400)
  assert.equal((await move({ from: 'to.txt' })).status, 400)
})

test('files of a machine that is not running cannot be read', async () => {
  const stopped: MachineId = (await server.machine({ start: false })).id
  const path = `/v1/machines/${stopped}/files`
  const upload = await server.call('PUT', `${path}/content?path=a`, Buffer.from('x'))
  for (const refused of [
    await server.call('GET', path),
    await server.call('GET', `${path}/content?path=a`, undefined, bytes),
    await server.call('PUT', `${path}/content`, { path: 'a', content: '' }),
    upload,
  ]) {
    assert.deepEqual([refused.status, refused.body.error.code], [412, 'precondition_failed'])
  }
})

async function write(path: string, text: string): Promise<void> {
  const { status } = await server.call('PUT', content, { path, content: text })
  assert.equal(status, 200)
}

async function readAll(path: string, length: number): Promise<{ text: string }> {
  let text = ''
  for (let offset = 0, eof = false; !eof;) {
    const query = `path=${encodeURIComponent(path)}&length=${length}&offset=${offset}`
    const { status, body } = await server.call('GET', `${content}?${query}`)
    assert.equal(status, 200, JSON.stringify(body))
    text += body.content
    offset += body.length
    eof = body.eof
  }
  return { text }
}

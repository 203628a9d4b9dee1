import { encodeTarHeader, tarEnd, tarPadding } from '@computer/contract/tar'
import { readTar } from '@computer/contract/tar-reader'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { GuestUnavailable } from '../src/guest/errors.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { id } = await server.machine()
const url = (path: string) => `/v1/machines/${id}/files/archive?path=${encodeURIComponent(path)}`
const tar = { 'content-type': 'application/x-tar' }

test('a folder is written and read as an archive', async () => {
  const content = randomBytes(3_000_000)
  const bytes = pack({ 'a/b': 'text', 'a/big': content, Grüße: '' })
  const written = await server.call('PUT', url('täst/into'), bytes, tar)
  assert.deepEqual(
    [written.status, written.body],
    [200, { path: '/home/agent/täst/into', files: 3, bytes: 3_000_004 }],
  )
  const read = await server.call('GET', url('täst/into'))
  assert.equal(read.status, 200)
  assert.equal(read.headers['content-type'], 'application/x-tar')
  assert.equal(read.headers['x-content-type-options'], 'nosniff')
  assert.match(String(read.headers['content-disposition']), /^attachment; filename="into\.tar"/)
  const files = await unpack(read.bytes)
  assert.deepEqual([...files.keys()].toSorted(), ['Grüße', 'a/b', 'a/big'])
  assert.ok(files.get('a/big')!.equals(content))
  const alias = await server.call('GET', url('täst/into').slice('/v1'.length))
  assert.equal((await unpack(alias.bytes)).size, 3)
})

test('a folder that cannot be read or written is refused with the error of the API', async () => {
  await server.call('PUT', url('here'), pack({ file: 'x' }), tar)
  for (const [path, status, code] of [
    ['nowhere', 404, 'not_found'],
    ['here/file', 400, 'invalid_request'],
    ['/run/computer', 403, 'permission_denied'],
  ] as const) {
    const read = await server.call('GET', url(path))
    assert.deepEqual([read.status, read.body.error.code], [status, code], path)
    assert.equal(read.headers['content-disposition'], undefined)
  }
  const denied = await server.call('PUT', url('/run/computer/x'), tarEnd, tar)
  assert.deepEqual([denied.status, denied.body.error.code], [403, 'permission_denied'])
})

test('an archive that is refused says how much of it was written', async () => {
  const bytes = pack({ one: '1', two: '2', '../three': '3' })
  const refused = await server.call('PUT', url('partly'), bytes, tar)
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'])
  assert.match(refused.body.error.message, /leads out of the folder; 2 files were written before/)
  const { bytes: read } = await server.call('GET', url('partly'))
  assert.deepEqual([...(await unpack(read)).keys()].toSorted(), ['one', 'two'])
})

test('each upload is accepted in its own content type alone', async () => {
  const message = async (...call: Parameters<typeof server.call>) => {
    const { status, body } = await server.call(...call)
    assert.equal(status, 400)
    return body.error.message as string
  }
  const octets = { 'content-type': 'application/octet-stream' }
  const asTar = 'send content-type: application/x-tar'
  assert.equal(await message('PUT', url('x'), tarEnd, octets), asTar)
  assert.equal(await message('PUT', url('x')), asTar)
  assert.equal(await message('PUT', url('x'), {}), asTar)
  const file = `/v1/machines/${id}/files/content?path=x`
  assert.match(await message('PUT', file, tarEnd, tar), /application\/json or application\/octet/)
  const exec = `/v1/machines/${id}/exec`
  assert.equal(await message('POST', exec, tarEnd, tar), 'send content-type: application/json')
})

test('an archive that breaks off is no complete response', async (t) => {
  const broken = (...chunks: Buffer[]) =>
    Readable.from(
      (async function* () {
        yield* chunks
        throw new GuestUnavailable("the machine's answer broke off", { sent: true })
      })(),
    )
  const read = t.mock.method(server.app.guests, 'readArchive', async () => broken())
  const early = await server.call('GET', url('x'))
  assert.deepEqual([early.status, early.body.error.code], [503, 'compute_unavailable'])
  assert.match(String(early.headers['content-type']), /^application\/json/)

  read.mock.mockImplementation(async () => broken(Buffer.alloc(100_000)))
  const { href } = await server.listen()
  const headers = { authorization: `Bearer ${server.key}` }
  const late = await fetch(new URL(url('x'), href), { headers })
  assert.equal(late.status, 200)
  await assert.rejects(late.arrayBuffer(), /terminated/)
})

function pack(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts = Object.entries(files).flatMap(([path, text]) => {
    const content = Buffer.from(text as string)
    const header = encodeTarHeader({ type: 'file', path, mode: 0o644, size: content.length })
    return [header, content, tarPadding(content.length)]
  })
  return Buffer.concat([...parts, tarEnd])
}

async function unpack(bytes: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const chunks = Readable.from([bytes], { objectMode: false })
  for await (const { entry, content } of readTar(chunks)) {
    const pieces: Buffer[] = []
    for await (const piece of content) pieces.push(piece)
    if (entry.type === 'file') files.set(entry.path, Buffer.concat(pieces))
  }
  return files
}

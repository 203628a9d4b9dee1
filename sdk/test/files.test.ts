import assert from 'node:assert/strict'
import { tarEnd } from '@computer/contract/tar'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { createNetwork, lose } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const network = createNetwork()
const computer = server.connect({ fetch: network.fetch })
const machine = await computer.machines.create()
const reads = () => network.count(`GET /v1/machines/${machine.id}/files/content`)
const bytesOf = (length: number) => new Uint8Array(randomBytes(length))

test('text and bytes are written, read, appended to, moved, listed and deleted', async () => {
  const { files } = machine
  assert.deepEqual(await files.write('notes/a.txt', 'grün '), {
    path: '/home/agent/notes/a.txt',
    size: 6,
  })
  await files.write('notes/a.txt', 'und blau', { append: true })
  assert.equal(await files.readText('notes/a.txt'), 'grün und blau')
  await files.write('notes/b.bin', new Blob([new Uint8Array([0, 255])]))
  assert.deepEqual([...(await files.read('notes/b.bin'))], [0, 255])
  await assert.rejects(files.readText('notes/b.bin'), { code: 'invalid_request' })
  await files.write('empty', '')
  assert.equal((await files.read('empty')).length, 0)

  await files.move('notes/a.txt', 'notes/c.txt')
  const entries = await files.list('notes').all()
  assert.deepEqual(
    entries.map(({ name }) => name),
    ['b.bin', 'c.txt'],
  )
  const page = await files.list('notes', { limit: 1 })
  assert.equal(page.hasMore, true)
  await files.delete('notes', { recursive: true })
  await assert.rejects(files.read('notes/c.txt'), { code: 'not_found' })
})

test('a large file is read in ranges, each retried on failure', async () => {
  const bytes = bytesOf(9 * 1024 * 1024 + 5)
  await machine.files.write('big', bytes)
  const before = reads()
  network.next('GET', lose)
  assert.deepEqual(Buffer.compare(await machine.files.read('big'), bytes), 0)
  assert.equal(reads() - before, 4)
})

test('a read beyond maxBytes fails before downloading more', async () => {
  await machine.files.write('long', bytesOf(5 * 1024 * 1024))
  const before = reads()
  const tooLarge = { code: 'too_large', message: /5242880 bytes, more than 5242879;/ }
  await assert.rejects(machine.files.read('long', { maxBytes: 5242879 }), tooLarge)
  assert.equal(reads() - before, 1)
  assert.equal((await machine.files.read('long', { maxBytes: 5242880 })).length, 5242880)
  const headers = { 'content-range': `bytes 0-0/${64 * 1024 * 1024 + 1}` }
  network.next('GET', async () => new Response('a', { status: 206, headers }))
  await assert.rejects(machine.files.read('huge'), { code: 'too_large' })
})

test('streams are read and written without a size limit', async () => {
  const bytes = bytesOf(300_000)
  await machine.files.write('streamed', new Blob([bytes]).stream())
  const stream = await machine.files.stream('streamed', { offset: 100_000 })
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  assert.equal(Buffer.compare(Buffer.concat(chunks), bytes.subarray(100_000)), 0)
})

test('a folder is written and read as a tar archive', async () => {
  const { files } = machine
  const contents = new Uint8Array(tarEnd)
  const empty = { path: '/home/agent/unpacked', files: 0, bytes: 0 }
  const put = `PUT /v1/machines/${machine.id}/files/archive`
  // Bytes are sent again after a lost connection, a stream is not.
  network.next('PUT', lose)
  assert.deepEqual(await files.writeArchive('unpacked', contents), empty)
  assert.equal(network.count(put), 2)
  assert.deepEqual(await files.writeArchive('unpacked', new Blob([contents]).stream()), empty)
  network.next('PUT', lose)
  const once = files.writeArchive('unpacked', new Blob([contents]).stream())
  await assert.rejects(once, { code: 'connection_failed' })

  await files.write('unpacked/file', 'text')
  const chunks: Uint8Array[] = []
  for await (const chunk of await files.readArchive('unpacked')) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  assert.ok(bytes.includes('text') && bytes.subarray(-1024).equals(tarEnd))
  await assert.rejects(files.readArchive('nowhere'), { code: 'not_found' })
})

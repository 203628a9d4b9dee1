import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { startServer } from '../../sdk/test/server.ts'
import { connectHere, imageOf, textOf } from './client.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server
const machine = await server.connect().machines.create({ name: 'files' })

test('a long text is read in chunks that split no character', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const text = `\ufeffx${'é漢🙂'.repeat(20_000)}`
  await machine.files.write('long.txt', text)
  let read = ''
  for (let offset = 0; ;) {
    const result = await mcp.call('read_file', { machine: 'files', path: 'long.txt', offset })
    const [chunk, note] = result.content
    assert.ok(chunk?.type === 'text', textOf(result))
    read += chunk.text
    if (!note) break
    offset = Number(/offset (\d+)/.exec(textOf(result))![1])
  }
  assert.equal(read, text)
})

test('a binary file is refused with what to do instead', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  for (const bytes of [
    [0x7f, 0x45, 0],
    [0xe9, 0x74, 0xe9],
  ]) {
    await machine.files.write('binary', new Uint8Array(bytes))
    const read = { machine: 'files', path: 'binary' }
    assert.match(await mcp.refused('read_file', read), /binary.*run_command/)
  }
})

test('an image is shown, and a large one downscaled', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const create = { width: 3000, height: 1500, channels: 3, background: 'red' } as const
  for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
    const bytes = await sharp({ create }).toFormat(format).toBuffer()
    await machine.files.write('picture', Uint8Array.from(bytes))
    const answer = await mcp.call('read_file', { machine: 'files', path: 'picture' })
    assert.match(textOf(answer), /3000x1500/)
    const picture = await sharp(imageOf(answer).bytes).metadata()
    assert.deepEqual([picture.width, picture.height], [1280, 640], format)
  }
})

test('a corrupt image fails with an explanation', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await machine.files.write(
    'broken.png',
    Uint8Array.from(Buffer.from('\x89PNG\r\n\x1a\nrubbish', 'latin1')),
  )
  const read = { machine: 'files', path: 'broken.png' }
  assert.match(await mcp.refused('read_file', read), /broken\.png.*cannot be shown/)
})

test('an oversized image is not downloaded whole', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const bytes = new Uint8Array(20 * 1024 * 1024 + 1)
  bytes.set(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  await machine.files.write('huge.png', bytes)
  const read = { machine: 'files', path: 'huge.png' }
  assert.match(await mcp.refused('read_file', read), /too large.*run_command/)
})

test('files are written, appended to and listed', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const file = { machine: 'files', path: 'notes/a.txt' }
  await mcp.ok('write_file', { ...file, content: 'one\n', mode: '0600' })
  assert.match(await mcp.ok('write_file', { ...file, content: 'two\n', append: true }), /8 bytes/)
  assert.equal(await mcp.ok('read_file', file), 'one\ntwo\n')
  const listed = await mcp.ok('list_files', { machine: 'files', path: 'notes' })
  assert.match(listed, /^0600 \w+ a\.txt \(8 bytes\)$/)
  assert.match(await mcp.refused('read_file', { ...file, offset: 8 }), /past the end.*8 bytes/)
  await mcp.ok('write_file', { ...file, content: '' })
  assert.equal(await mcp.ok('read_file', file), 'The file is empty.')
  assert.match(await mcp.refused('read_file', { machine: 'files', path: 'none' }), /none/)
})

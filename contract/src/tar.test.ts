import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { readTar } from './tar-reader.ts'
import { encodeTarHeader, tarEnd, tarPadding, type TarEntry } from './tar.ts'

type Item = TarEntry & { readonly content?: Buffer }

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .filter((text) => !/[/\0]/.test(text) && text !== '.' && text !== '..')
const path = fc.array(name, { minLength: 1, maxLength: 8 }).map((names) => names.join('/'))
const mode = fc.nat({ max: 0o777 })
const item: fc.Arbitrary<Item> = fc.oneof(
  fc.record({ type: fc.constant('directory'), path, mode }),
  fc.record({
    type: fc.constant('symlink'),
    path,
    target: fc
      .string({ minLength: 1, maxLength: 200 })
      .filter((text) => text.isWellFormed() && !text.includes('\0')),
  }),
  fc.record({ type: fc.constant('omitted'), path }),
  fc
    .record({ type: fc.constant('file'), path, mode, content: fc.uint8Array({ maxLength: 3000 }) })
    .map(({ content, ...file }) => ({
      ...file,
      size: content.length,
      content: Buffer.from(content),
    })),
) as fc.Arbitrary<Item>

test('what is written is read, however it is cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { maxLength: 12 }),
      fc.nat({ max: 4000 }),
      async (items, size) => {
        assert.deepEqual(
          await unpack(pack(items), 1 + size),
          items.map((one) => ({ ...one })),
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('an archive that is cut off anywhere is refused', async () => {
  const whole = pack([
    { type: 'directory', path: 'a', mode: 0o755 },
    { type: 'file', path: 'a/b', mode: 0o644, size: 600, content: Buffer.alloc(600, 'x') },
    { type: 'symlink', path: 'a/c', target: 'x'.repeat(300) },
  ])
  const end = whole.length - tarEnd.length
  for (let size = 0; size < end + 512; size += 64) {
    await assert.rejects(unpack(whole.subarray(0, size)), { message: 'the archive was cut off' })
  }
  // A single block of zeros ends an archive, as some programs write it.
  assert.equal((await unpack(whole.subarray(0, end + 512))).length, 3)
})

test('damaged archives are refused, and bytes that are none', async () => {
  const whole = pack([
    { type: 'symlink', path: 'p'.repeat(150), target: 't' },
    { type: 'file', path: 'a', mode: 0o644, size: 10, content: Buffer.alloc(10) },
  ])
  const damage = fc.tuple(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 }))
  const damaged = fc.array(damage, { minLength: 1, maxLength: 4 }).map((changes) => {
    const bytes = Buffer.from(whole)
    for (const [at, value] of changes) bytes[at] = value
    return bytes
  })
  const noise = fc.uint8Array({ minLength: 1, maxLength: 4000 }).map((bytes) => Buffer.from(bytes))
  await fc.assert(
    fc.asyncProperty(fc.oneof(damaged, noise), async (bytes) => {
      try {
        await unpack(bytes)
      } catch (error) {
        assert.equal((error as Error).name, 'TarError', String(error))
      }
    }),
    { numRuns: 500 },
  )
})

for (const [what, message] of [
  ['../x', /leads out of the folder/],
  ['a/../../x', /leads out of the folder/],
  ['a/..', /leads out of the folder/],
  ['/etc/passwd', /absolute path/],
  ['//etc/passwd', /absolute path/],
  ['.', /only a directory/],
] as const) {
  test(`the name ${what} is refused`, async () => {
    const file: Item = { type: 'file', path: what, mode: 0o644, size: 0 }
    const link: Item = { type: 'symlink', path: what, target: 'x' }
    await assert.rejects(unpack(pack([file])), message)
    await assert.rejects(unpack(pack([link])), message)
    // Through an extended header, and through one of GNU tar.
    const long = Buffer.from(`${'./'.repeat(60)}${what}`)
    if (!what.startsWith('/')) await assert.rejects(unpack(pack([{ ...file, path: String(long) }])))
    const gnu = Buffer.concat([block({ type: 'L', size: what.length }), padded(what), block({})])
    await assert.rejects(unpack(gnu), message)
  })
}

test('paths are normalized', async () => {
  const paths = ['./a', 'a//b/./c', './', 'd/']
  const items = paths.map((one): Item => ({ type: 'directory', path: one, mode: 0o700 }))
  const read = await unpack(pack(items))
  assert.deepEqual(
    read.map((entry) => entry.path),
    ['a', 'a/b/c', '', 'd'],
  )
})

test('devices, FIFOs, hard links and unknown types are refused by name', async () => {
  for (const [type, what] of [
    ['1', /name is a hard link; only/],
    ['3', /name is a device; only/],
    ['4', /name is a device; only/],
    ['6', /name is a FIFO; only/],
    ['S', /name is a sparse file/],
    ['Z', /name is an entry of the unknown type "Z"/],
  ] as const) {
    await assert.rejects(unpack(block({ type })), what)
  }
})

test('bits beyond permissions are dropped', async () => {
  const [file] = await unpack(Buffer.concat([block({ mode: '0006755' }), tarEnd]))
  assert.deepEqual(file, { type: 'file', path: 'name', mode: 0o755, size: 0, content: noBytes })
})

test('names that are not UTF-8, hold a NUL or are too long are refused', async () => {
  const latin = Buffer.from('caf\xe9', 'latin1')
  await assert.rejects(unpack(block({ path: latin })), /a name is not UTF-8: caf\ufffd/)
  await assert.rejects(unpack(pax('path=a\0b')), /holds a NUL/)
  await assert.rejects(unpack(pax(`path=${'a/'.repeat(2049)}`)), /longer than 4096 bytes: a\/a/)
})

test('extended headers cost bounded memory, and damaged ones are refused', async () => {
  await assert.rejects(unpack(block({ type: 'x', size: 70_000 })), /header is too long/)
  await assert.rejects(unpack(block({ type: 'L', size: 8 ** 11 - 1 })), /header is too long/)
  for (const record of [
    'path=a',
    '5 path=a\n',
    '999 path=a\n',
    '9 path=a',
    'x path=a\n',
    '0 a=\n',
  ]) {
    const size = record.length
    const bytes = Buffer.concat([block({ type: 'x', size }), padded(record), block({})])
    await assert.rejects(unpack(bytes), /header is damaged/, record)
  }
  await assert.rejects(unpack(pax('size=-1')), /a number in the archive/)
  await assert.rejects(unpack(pax('size=99999999999999999999')), /too large/)
  await assert.rejects(unpack(pax('GNU.sparse.major=1')), /without --sparse/)
})

test('an archive that goes on after its end is refused', async () => {
  const trailing = Buffer.alloc(2 * 1024 * 1024)
  await assert.rejects(unpack(Buffer.concat([tarEnd, trailing])), /goes on after its end/)
})

for (const format of ['gnu', 'pax', 'ustar', 'v7', 'oldgnu']) {
  test(`archives of GNU tar in the format ${format} are read`, async (t) => {
    const folder = makeFolder(t)
    const source = join(folder, 'source')
    mkdirSync(join(source, 'd/e'), { recursive: true, mode: 0o750 })
    writeFileSync(join(source, 'd/file'), 'content', { mode: 0o640 })
    writeFileSync(join(source, 'd/e/Grüße 漢'), Buffer.alloc(20_000, 'y'))
    symlinkSync('../file', join(source, 'd/e/link'))
    const isLong = format !== 'v7' && format !== 'ustar'
    const long = 'n'.repeat(isLong ? 200 : 60)
    writeFileSync(join(source, long), '')
    if (isLong) symlinkSync('t'.repeat(300), join(source, 'long-link'))
    const bytes = execFileSync('tar', ['-c', '--format', format, '-C', source, '.'])
    const found = new Map((await unpack(bytes)).map(({ path: at, ...rest }) => [at, rest]))
    assert.equal(String((found.get('d/file') as Item).content), 'content')
    assert.equal((found.get('d/file') as { mode: number }).mode, 0o640)
    assert.equal((found.get('d/e/Grüße 漢') as { size: number }).size, 20_000)
    assert.deepEqual(found.get('d/e/link'), { type: 'symlink', target: '../file' })
    assert.equal(found.get('d/e')?.type, 'directory')
    assert.equal(found.get(long)?.type, 'file')
    if (isLong) assert.equal((found.get('long-link') as { target: string }).target.length, 300)
  })
}

test('GNU tar unpacks what is written, and says nothing', async (t) => {
  const folder = makeFolder(t)
  const long = `${'l'.repeat(90)}/${'ö'.repeat(80)}`
  const bytes = pack([
    { type: 'directory', path: '.', mode: 0o755 },
    { type: 'omitted', path: 'a fifo' },
    { type: 'directory', path: 'l'.repeat(90), mode: 0o755 },
    { type: 'file', path: long, mode: 0o751, size: 5, content: Buffer.from('hello') },
    { type: 'symlink', path: 'link', target: 't'.repeat(250) },
  ])
  const output = execFileSync('sh', ['-c', `tar -x -C ${folder} 2>&1`], { input: bytes })
  assert.equal(String(output).replaceAll(/.*unknown extended header keyword.*\n/g, ''), '')
  assert.equal(readFileSync(join(folder, long), 'utf8'), 'hello')
  assert.equal(lstatSync(join(folder, long)).mode & 0o777, 0o751)
  assert.equal(readlinkSync(join(folder, 'link')).length, 250)
  assert.deepEqual(readdirSync(folder).toSorted(), ['link', 'l'.repeat(90)])
})

test('files of 8 GiB and more have their size in an extended header', async () => {
  const huge: TarEntry = { type: 'file', path: 'name', mode: 0o644, size: 10 * 2 ** 30 }
  // As GNU tar writes it: a number in base 256.
  const sizeField = Buffer.alloc(12)
  sizeField[0] = 0x80
  sizeField.writeBigUInt64BE(BigInt(huge.size), 4)
  for (const header of [encodeTarHeader(huge), block({ sizeField })]) {
    const first = await readTar(chunksOf(header, 512)).next()
    assert.deepEqual(first.value?.entry, huge)
  }
})

const noBytes = Buffer.alloc(0)

function pack(items: readonly Item[]): Buffer {
  const parts = items.flatMap(({ content = noBytes, ...entry }) => [
    encodeTarHeader(entry as TarEntry),
    content,
    tarPadding(content.length),
  ])
  return Buffer.concat([...parts, tarEnd])
}

async function unpack(bytes: Buffer, chunkBytes = 1000): Promise<Item[]> {
  const items: Item[] = []
  for await (const { entry, content } of readTar(chunksOf(bytes, chunkBytes))) {
    const pieces: Buffer[] = []
    for await (const piece of content) pieces.push(Buffer.from(piece))
    items.push(entry.type === 'file' ? { ...entry, content: Buffer.concat(pieces) } : entry)
  }
  return items
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** A header as an attacker writes it. */
function block(fields: {
  readonly type?: string
  readonly path?: string | Buffer
  readonly size?: number
  readonly sizeField?: Buffer
  readonly mode?: string
}): Buffer {
  const { type = '0', path: at = 'name', size = 0, sizeField, mode: bits = '0000644' } = fields
  const bytes = Buffer.alloc(512)
  Buffer.from(at).copy(bytes, 0)
  bytes.write(bits, 100)
  bytes.write(size.toString(8).padStart(11, '0'), 124)
  sizeField?.copy(bytes, 124)
  bytes.fill(' ', 148, 156)
  bytes.write(type, 156)
  bytes.write('ustar\u000000', 257)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0`, 148)
  return bytes
}

function pax(record: string): Buffer {
  const rest = Buffer.byteLength(record) + 2
  let length = rest + 1
  while (String(length).length + rest !== length) length += 1
  const line = `${length} ${record}\n`
  return Buffer.concat([block({ type: 'x', size: length }), padded(line), block({}), tarEnd])
}

function padded(text: string): Buffer {
  return Buffer.concat([Buffer.from(text), tarPadding(Buffer.byteLength(text))])
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tar-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

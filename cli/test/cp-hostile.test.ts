import { encodeTarHeader, tarEnd, tarPadding, type TarEntry } from '@computer/contract/tar'
import assert from 'node:assert/strict'
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test, type TestContext } from 'node:test'
import { startComputer } from './computer.ts'

/* A machine whose agent belongs to an attacker, who sends archives to the person's computer. */

const { run, server, folder } = await startComputer({ after })
await server.machine({ name: 'first' })
const here = (path: string) => join(folder, path)
const outside = here('outside')
await mkdir(outside)
await writeFile(join(outside, 'precious'), 'precious')

test('no name and no link of an archive leads out of the folder that is copied into', async (t) => {
  const link = (path: string, target: string): TarEntry => ({ type: 'symlink', path, target })
  const attacks = {
    parent: [file('../outside/a', 'x')],
    deeper: [file('a/../../outside/a', 'x')],
    absolute: [file(join(outside, 'a'), 'x')],
    link: [link('l', outside), file('l/a', 'x')],
    relative: [link('l', '../outside'), file('l/a', 'x')],
    chain: [link('k', '..'), link('l', 'k/outside'), file('l/a', 'x'), file('k/outside/b', 'x')],
    file: [link('p', join(outside, 'precious')), file('p', 'x')],
    dangling: [link('p', join(outside, 'new')), file('p', 'x')],
    directory: [link('l', outside), { type: 'directory', path: 'l', mode: 0o777 } as const],
    mode: [link('l', outside), { type: 'directory', path: 'l/../l', mode: 0 } as const],
    through: [link('precious', join(outside, 'precious')), link('precious', 'x')],
    self: [link('.', outside)],
    partial: [
      ...[1, 2, 3].map((number) => link(`.f.${number}.partial`, join(outside, 'precious'))),
      file('f', 'x'),
    ],
  } satisfies Record<string, readonly (TarEntry | File)[]>
  for (const [name, entries] of Object.entries(attacks)) {
    answer(t, pack(...entries))
    const { code, stderr } = await run(['cp', '-r', 'first:/', name])
    assert.ok(code === 0 || /error: the machine sent an archive/.test(stderr), `${name} ${stderr}`)
    assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'precious', name)
    assert.deepEqual(await readdir(outside), ['precious'], name)
    const left = await readdir(here(name), { recursive: true }).catch(() => [])
    // Only names of the attack have a number.
    assert.deepEqual(
      left.filter((one) => /[a-zA-Z_-]\.partial$/.test(one)),
      [],
      name,
    )
  }
  assert.ok((await lstat(here('link/l'))).isDirectory())
})

test('links that are there already lead nowhere either', async (t) => {
  await mkdir(here('into/etc'), { recursive: true })
  await symlink(outside, here('into/etc/l'))
  await symlink(join(outside, 'precious'), here('into/etc/p'))
  answer(t, pack(file('l/a', 'x'), file('p', 'y')))
  assert.equal((await run(['cp', '-r', 'first:/etc', 'into'])).code, 0)
  assert.deepEqual(await readdir(outside), ['precious'])
  assert.equal(await readFile(join(outside, 'precious'), 'utf8'), 'precious')
  assert.equal(await readFile(here('into/etc/p'), 'utf8'), 'y')
})

test('devices, FIFOs and hard links are refused, and nobody gets set-user-ID files', async (t) => {
  for (const [type, what] of [
    ['1', 'a hard link'],
    ['3', 'a device'],
    ['4', 'a device'],
    ['6', 'a FIFO'],
  ] as const) {
    answer(t, Buffer.concat([pack(file('before', 'x')).subarray(0, -1024), special(type)]))
    const { code, stderr } = await run(['cp', '-r', 'first:/', `special-${type}`])
    assert.equal(code, 1)
    assert.match(stderr, RegExp(`error: the machine sent .* evil is ${what}; only files`))
    assert.deepEqual(await readdir(here(`special-${type}`)), ['before'])
  }
  answer(t, Buffer.concat([special('0', '0006777'), tarEnd]))
  assert.equal((await run(['cp', '-r', 'first:/', 'modes'])).code, 0)
  assert.equal((await lstat(here('modes/evil'))).mode & 0o7777, 0o777)
})

test('an archive that is cut off, damaged or of something else fails the copy', async (t) => {
  const whole = pack(file('a', 'x'.repeat(2000)), file('b', 'x'))
  for (const [bytes, message] of [
    [whole.subarray(0, 1000), /the archive was cut off/],
    [whole.subarray(0, -1024), /the archive was cut off/],
    [Buffer.from('x'.repeat(4096)), /not a tar archive/],
    [Buffer.alloc(0), /the archive was cut off/],
    [Buffer.concat([whole, Buffer.alloc(4 * 1024 * 1024)]), /goes on after its end/],
  ] as const) {
    answer(t, bytes)
    const { code, stderr } = await run(['cp', '-r', 'first:/', 'cut'])
    assert.equal(code, 1, stderr)
    assert.match(stderr, message)
    const names = await readdir(here('cut'))
    assert.deepEqual(
      names.filter((name) => name.includes('partial')),
      [],
    )
  }
})

test('a copy whose connection breaks starts again, and counts its bytes once', async (t) => {
  const whole = pack(file('a', 'x'.repeat(200_000)), file('b', 'yy'))
  let attempts = 0
  t.mock.method(server.app.guests, 'readArchive', async () =>
    Readable.from(
      (async function* () {
        attempts += 1
        yield attempts < 3 ? whole.subarray(0, 150_000) : whole
        if (attempts < 3) throw new Error('the connection breaks')
      })(),
      { objectMode: false },
    ),
  )
  const { code, stdout } = await run(['cp', '-r', 'first:/', 'again', '--json'])
  assert.deepEqual([code, JSON.parse(stdout)], [0, { files: 2, bytes: 200_002, skipped: [] }])
  assert.equal(attempts, 3)
  assert.deepEqual((await readdir(here('again'))).toSorted(), ['a', 'b'])
})

test('a file that cannot fit on the disk is refused before it fills the disk', async (t) => {
  const size = 2 ** 52
  const bytes = Buffer.concat([encodeTarHeader({ type: 'file', path: 'huge', mode: 0o644, size })])
  answer(t, bytes)
  const { code, stderr } = await run(['cp', '-r', 'first:/', 'huge'])
  assert.equal(code, 1)
  assert.match(stderr, /huge has 4096 TB, and the disk has .* left|huge has .*, and the disk has/)
  assert.deepEqual(await readdir(here('huge')), [])
})

test('what the machine left out is shown without its control characters, and is no success', async (t) => {
  const omitted: TarEntry = { type: 'omitted', path: 'evil\u001b]0;title\u0007\nline' }
  answer(t, pack(omitted, file('a', 'x')))
  const { code, stderr } = await run(['cp', '-r', 'first:/', 'partly'])
  assert.equal(code, 1)
  assert.match(stderr, /^skipped evil \]0;title line: not a regular file/)
  assert.equal(stderr.split('\n').length, 2)
  assert.equal(await readFile(here('partly/a'), 'utf8'), 'x')
})

type File = TarEntry & { readonly type: 'file'; readonly text: string }

function file(path: string, text: string): File {
  return { type: 'file', path, mode: 0o644, size: Buffer.byteLength(text), text }
}

function pack(...entries: readonly (TarEntry | File)[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from('text' in entry ? entry.text : '')
    return [encodeTarHeader(entry), content, tarPadding(content.length)]
  })
  return Buffer.concat([...parts, tarEnd])
}

/** A header of another type, or with other bits, under the name `evil`. */
function special(type: string, mode = '0000644'): Buffer {
  const block = encodeTarHeader({ type: 'file', path: 'evil', mode: 0o644, size: 0 })
  block.write(mode, 100)
  block.write(type, 156)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0`, 148)
  return block
}

/** The agent's archive of any folder. */
function answer(t: TestContext, bytes: Buffer): void {
  t.mock.method(server.app.guests, 'readArchive', async () =>
    Readable.from([bytes], { objectMode: false }),
  )
}

import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { addKey, readKeyring } from './keyring-file.ts'
import { Key, keyIdOf, open, seal, sealedBytes, Unopenable, type Keyring } from './keyring.ts'

const context = ['machine secret', 'org_1', 'mch_1', 'TOKEN', '1', '1']
const plain = Buffer.from('a value')

test('a sealed value opens only with its key, in its context and unmodified', () => {
  const key = Key.generate()
  const keyring: Keyring = [key]
  const sealed = seal(keyring, plain, context)
  assert.equal(sealed.length, plain.length + sealedBytes)
  assert.deepEqual(keyIdOf(sealed), key.id)
  assert.deepEqual(open(keyring, sealed, context), plain)
  assert.notDeepEqual(
    seal(keyring, plain, context),
    sealed,
    'sealing again gives another ciphertext',
  )
  assert.deepEqual(open(keyring, seal(keyring, Buffer.alloc(0), context), context), Buffer.alloc(0))

  for (const index of context.keys()) {
    const elsewhere = context.with(index, `${context[index]}0`)
    assert.throws(() => open(keyring, sealed, elsewhere), Unopenable, `moved: ${index}`)
  }
  assert.throws(
    () => open(keyring, sealed, ['machine secretorg_1', ...context.slice(2)]),
    Unopenable,
  )
  for (const index of sealed.keys()) {
    const changed = Buffer.from(sealed)
    changed[index]! ^= 1
    assert.throws(() => open(keyring, changed, context), Unopenable, `byte ${index}`)
  }
  for (let length = 0; length < sealed.length; length += 1) {
    assert.throws(() => open(keyring, sealed.subarray(0, length), context), Unopenable)
  }
  const lost = { name: 'Unopenable', message: /lacks the key [0-9a-f]{16}$/ }
  assert.throws(() => open([Key.generate()], sealed, context), lost)
})

test('the first key encrypts, and all keys decrypt', () => {
  const [first, second] = [Key.generate(), Key.generate()]
  const before = seal([first], plain, context)
  const keyring: Keyring = [second, first]
  assert.deepEqual(open(keyring, before, context), plain)
  assert.deepEqual(keyIdOf(seal(keyring, plain, context)), second.id)
})

test('a new key becomes the first in the file, which only its owner can access', async (t) => {
  const path = join(await makeFolder(t), 'keyring')
  assert.equal(await readKeyring(path), null)
  const [first] = await addKey(path)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  const [second] = await addKey(path)
  const keys = await readKeyring(path)
  assert.deepEqual(
    keys?.map(({ id }) => id),
    [second.id, first.id],
  )
  const sealed = seal([first], plain, context)
  assert.deepEqual(open(keys!, sealed, context), plain)
})

test('a file that others can access, or that is malformed, is refused without quoting its lines', async (t) => {
  const folder = await makeFolder(t)
  const path = join(folder, 'keyring')
  await addKey(path)
  const good = await readFile(path, 'utf8')
  for (const mode of [0o640, 0o604, 0o620]) {
    await chmod(path, mode)
    await assert.rejects(
      readKeyring(path),
      /other users have access to the keyring \S+; run chmod 600 /,
    )
  }
  await chmod(path, 0o600)
  for (const [text, message] of [
    ['', /has no key/],
    ['# nothing\n\n', /has no key/],
    [`${good}c2hvcnQ=\n`, /line 4 of the keyring \S+ is not 32 bytes in base 64$/],
  ] as const) {
    await writeFile(path, text)
    await assert.rejects(readKeyring(path), { message })
    await assert.rejects(addKey(path), { message })
    assert.equal(await readFile(path, 'utf8'), text, 'the file is unchanged')
  }
  await assert.rejects(readKeyring(folder), /is not a file/)
})

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyring-test-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

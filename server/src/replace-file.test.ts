import assert from 'node:assert/strict'
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { replaceFile } from './replace-file.ts'

for (const isDurable of [true, false]) {
  test(`a file is made and replaced, with isDurable ${isDurable}`, async (t) => {
    const folder = await makeFolder(t)
    const path = join(folder, 'record')
    await replaceFile(path, 'first', { isDurable })
    assert.equal(await readFile(path, 'utf8'), 'first')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    await chmod(path, 0o666)
    await replaceFile(path, 'second', { isDurable })
    assert.equal(await readFile(path, 'utf8'), 'second')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    await replaceFile(path, 'third', { isDurable, mode: 0o644 })
    assert.equal((await stat(path)).mode & 0o777, 0o644)
    assert.deepEqual(await readdir(folder), ['record'])
  })
}

test('a reader that opened the old file reads all of it', async (t) => {
  const path = join(await makeFolder(t), 'record')
  await writeFile(path, 'old')
  await using reader = await open(path)
  await replaceFile(path, 'new content', { isDurable: false })
  assert.equal(await reader.readFile('utf8'), 'old')
})

test('of concurrent writers one wins, and no content is mixed', async (t) => {
  const folder = await makeFolder(t)
  const path = join(folder, 'record')
  const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000))
  await Promise.all(texts.map((text) => replaceFile(path, text, { isDurable: false })))
  assert.ok(texts.includes(await readFile(path, 'utf8')))
  assert.deepEqual(await readdir(folder), ['record'])
})

test('a failed write keeps what is there and leaves nothing behind', async (t) => {
  const folder = await makeFolder(t)
  const path = join(folder, 'taken')
  await mkdir(join(path, 'inside'), { recursive: true })
  await assert.rejects(replaceFile(path, 'text', { isDurable: true }))
  assert.deepEqual(await readdir(folder), ['taken'])
  assert.deepEqual(await readdir(path), ['inside'])
})

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-replace-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { AtomicFile } from '../src/system/atomic-file.ts'

test('a committed file replaces the earlier one and leaves nothing beside it', (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'name'), 'old')
  {
    using file = new AtomicFile(folder)
    writeFileSync(file.fd, 'new')
    assert.equal(readFileSync(join(folder, 'name'), 'utf8'), 'old')
    file.commit('name')
  }
  assert.equal(readFileSync(join(folder, 'name'), 'utf8'), 'new')
  assert.deepEqual(readdirSync(folder), ['name'])
})

test('without a commit nothing is left, and the caller gets its own error', (t) => {
  const folder = makeFolder(t)
  mkdirSync(join(folder, 'directory'))
  const write = (name: string, removeFolder = false) => {
    using file = new AtomicFile(folder)
    if (removeFolder) rmSync(folder, { recursive: true })
    file.commit(name)
  }
  assert.throws(() => write('directory'), { code: 'EISDIR' })
  assert.deepEqual(readdirSync(folder), ['directory'])
  assert.throws(() => write('name', true), { code: 'ENOENT' })
})

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'guest-atomic-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

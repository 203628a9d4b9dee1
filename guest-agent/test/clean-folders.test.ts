import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { foldersCleaned } from '../src/system/clean-folders.ts'

test('a boot is waited for until its temporary folders are clean, and a host without systemd is not', async (t) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'guest-root-'))
  t.after(() => rmSync(rootPath, { recursive: true }))
  await foldersCleaned(rootPath)
  mkdirSync(join(rootPath, 'run/systemd'), { recursive: true })
  writeFileSync(join(rootPath, 'run/systemd/private'), '')
  let isClean = false
  const cleaned = foldersCleaned(rootPath).then(() => assert.ok(isClean))
  await sleep(20)
  isClean = true
  writeFileSync(join(rootPath, 'run/utmp'), '')
  await cleaned
})

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findInit } from '../src/drivers/incus/agent/guest-socket.ts'

/** Numbers of processes are reused, so one that was read from a group may be a process of the host by now. */
test('no process of the host is taken for the init of a machine', async (t) => {
  const group = await mkdtemp(join(tmpdir(), 'lxc.payload.'))
  t.after(() => rm(group, { recursive: true }))
  await writeFile(join(group, 'cgroup.procs'), `1\n${process.pid}\n${process.ppid}\n4194304\nx\n`)
  assert.equal(await findInit(group), undefined)
})

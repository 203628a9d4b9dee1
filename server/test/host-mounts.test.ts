import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { unmountEngine } from '../src/host/engine-mounts.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

const run = promisify(execFile)

test('a machine of the fake engine does not keep the disks of real ones in use', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'computer-mounts-'))
  const mountPoint = join(dataDir, 'engine/a pool')
  await mkdir(mountPoint, { recursive: true })
  await run('mount', ['-t', 'tmpfs', 'tmpfs', mountPoint])
  t.after(async () => {
    await run('umount', [mountPoint])
    await rm(dataDir, { recursive: true, force: true })
  })
  const server = await startTestServer(t)
  const { id } = await server.machine()
  const ran = await server.call('POST', `/v1/machines/${id}/exec`, { command: ['true'] })
  assert.equal(ran.status, 200)
  const seenBy = async (pid: string) => {
    const mounts = await readFile(`/proc/${pid}/mounts`, 'utf8').catch(() => '')
    const namespace = await readlink(`/proc/${pid}/ns/mnt`).catch(() => null)
    return mounts.includes(dataDir) ? [namespace] : []
  }
  const own = await readlink('/proc/self/ns/mnt')
  // Machines of other tests have the mount until they have begun.
  await eventually(async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const namespaces = (await Promise.all(pids.map(seenBy))).flat()
    return namespaces.every((namespace) => namespace === own || namespace === null) || undefined
  })
})

test('a disk is unmounted only when no process of the host has it mounted', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'computer-mounts-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const [disk, mountPoint] = [join(dataDir, 'engine/disk.img'), join(dataDir, 'engine/a pool')]
  await mkdir(mountPoint, { recursive: true })
  await writeFile(disk, '')
  await truncate(disk, 256 * 2 ** 20)
  await run('mkfs.btrfs', ['--quiet', disk])
  await run('mount', ['-o', 'loop', disk, mountPoint])
  t.after(() => run('umount', [mountPoint]).catch(() => {}))

  // Its own mounts are a copy, as those of a starting container are.
  const holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sleep', 'infinity'])
  t.after(() => holder.kill())
  const mountsOf = (pid: number | string) => readFile(`/proc/${pid}/mounts`, 'utf8')
  const ownNamespace = async () =>
    (await run('readlink', [`/proc/${holder.pid}/ns/mnt`])).stdout !==
    (await run('readlink', ['/proc/self/ns/mnt'])).stdout
  await eventually(async () => (await ownNamespace()) || undefined)

  let isDone = false
  const unmounted = unmountEngine(dataDir).then(() => (isDone = true))
  await eventually(async () => !(await mountsOf('self')).includes(dataDir) || undefined)
  assert.ok((await mountsOf(holder.pid!)).includes(dataDir))
  assert.equal(isDone, false)
  const before = await run('losetup', ['--associated', disk])
  assert.match(before.stdout, /^\/dev\/loop/)

  holder.kill()
  await once(holder, 'exit')
  await unmounted
  assert.equal((await run('losetup', ['--associated', disk])).stdout, '')
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from './harness/polling.ts'
import { distribution } from '../bench/measure.ts'
import { isSoak, soakSize } from '../scripts/soak/sizes.ts'
import { createDiskSteps } from './guest/disk-steps.ts'
import { closeBrowser, readCookie, takeCookie } from './guest/browser.ts'
import { runAdmin } from './harness/person.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * Snapshots, restores, forks and templates on real machines. The tests share a source machine, so each
 * builds on those before it.
 */

let server: RealServer
let steps: ReturnType<typeof createDiskSteps>
let source = ''
let snapshot = ''
let template = ''
const forks: string[] = []
/** The organization's limit, which one machine reaches. */
const maxSnapshots = soakSize('deep').snapshots

before(async () => {
  server = await joinServer()
  steps = createDiskSteps(server.api)
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('a machine with a program and a cookie is captured while its browser runs', async () => {
  source = (await server.api.ok('POST', '/v1/machines', { name: 'source' })).id
  await server.api.run(source, ['sh', '-ec', installPackage], { user: 'root' })
  await steps.write(source, 'before')
  await takeCookie(server.api, source, 'before')
  assert.equal(await readCookie(server.api, source), 'visit=before')

  const asked = await server.api.ok('POST', '/v1/snapshots', {
    machine_id: source,
    name: 'with a cookie',
  })
  assert.deepEqual(
    [asked.state, asked.origin, asked.includes_memory, asked.size_bytes],
    ['pending', 'manual', false, null],
  )
  const ready = await steps.settled(asked.id)
  assert.deepEqual([ready.state, ready.name], ['ready', 'with a cookie'])
  assert.ok(ready.size_bytes > 100_000, `its size is ${ready.size_bytes} bytes`)
  snapshot = ready.id
})

test('two concurrent forks have the whole disk of the source, and nothing of each other', async () => {
  const names = ['left', 'right']
  const made = await Promise.all(
    names.map((name) => server.api.ok('POST', `/v1/machines/${source}/fork`, { name })),
  )
  assert.deepEqual(
    made.map(({ state }) => state),
    ['creating', 'creating'],
  )
  forks.push(...(await Promise.all(made.map(({ id }) => steps.running(id)))))
  // Later changes of the source must not appear in the forks.
  await steps.write(source, 'after')
  await server.api.run(source, ['dpkg', '-r', 'carried'], { user: 'root' })
  await closeBrowser(server.api, source)
  await takeCookie(server.api, source, 'after')

  for (const [index, id] of forks.entries()) {
    await assertBefore(id)
    assert.equal(await server.api.run(id, ['hostname']), `${names[index]}\n`)
    await steps.write(id, names[index]!)
  }
  const all = [source, ...forks]
  for (const command of ['cat /etc/machine-id', 'hostname', 'hostname -I']) {
    const values = await Promise.all(all.map((id) => answerOf(id, command)))
    assert.equal(new Set(values).size, all.length, `${command}: ${values.join(' | ')}`)
  }
  assert.equal(await steps.read(source), 'after')
  await server.api.ok('DELETE', `/v1/machines/${forks.pop()}`)
})

test('a machine from a template of the snapshot has its disk, too', async () => {
  const asked = await server.api.ok('POST', '/v1/templates', {
    name: 'carried',
    snapshot_id: snapshot,
  })
  assert.equal(asked.state, 'ready')
  template = asked.id
  const machine = await server.api.ok('POST', '/v1/machines', { template })
  assert.deepEqual([machine.state, machine.template_id], ['running', template])
  await assertBefore(machine.id)
  await server.api.ok('DELETE', `/v1/machines/${machine.id}`)
})

test('a restore brings back the snapshot, and keeps the disk that it replaces', async () => {
  await steps.restore(source, snapshot)
  await assertBefore(source)

  const { data } = await server.api.ok('GET', `/v1/snapshots?machine_id=${source}`)
  const [kept] = data
  assert.deepEqual([kept.name, kept.origin, kept.state], ['Before restore', 'manual', 'ready'])
  await closeBrowser(server.api, source)
  await steps.restore(source, kept.id)
  assert.equal(await steps.read(source), 'after')
  assert.equal(await readCookie(server.api, source), 'visit=after')
  await assert.rejects(server.api.run(source, ['carried']))
})

test('a machine whose input lease is held cannot be restored', async () => {
  const { sessionId } = await server.api.takeLease(source)
  const path = `/v1/machines/${source}/restore`
  const refused = await server.api.call('POST', path, { snapshot_id: snapshot })
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, new RegExp(sessionId))
  await server.api.ok('DELETE', `/v1/sessions/${sessionId}`)
})

test('a stop keeps a snapshot of the disk, and the next stop replaces it', async () => {
  const [id] = forks
  const stops: string[] = []
  for (const content of ['first stop', 'second stop']) {
    await steps.write(id!, content)
    await server.api.ok('POST', `/v1/machines/${id}/stop?wait=60`)
    const ready = await eventually(
      'the machine has the snapshot of this stop, and no other',
      async () => {
        const { data } = await server.api.ok('GET', `/v1/snapshots?machine_id=${id}&origin=stop`)
        return data.length === 1 && data[0].state === 'ready' && !stops.includes(data[0].id)
          ? data[0]
          : undefined
      },
    )
    stops.push(ready.id)
    await server.api.ok('POST', `/v1/machines/${id}/start?wait=60`)
  }
  assert.equal((await server.api.call('GET', `/v1/snapshots/${stops[0]}`)).status, 404)
  await steps.write(id!, 'after the stops')

  // A stopped machine stays stopped, and boots the restored disk on its next start.
  await server.api.ok('POST', `/v1/machines/${id}/stop?wait=60`)
  await steps.restore(id!, stops[1]!)
  assert.equal((await server.api.ok('GET', `/v1/machines/${id}`)).state, 'stopped')
  await server.api.ok('POST', `/v1/machines/${id}/start?wait=60`)
  assert.equal(await steps.read(id!), 'second stop')
})

test('snapshots, forks and templates outlive their machine', async () => {
  await server.api.ok('DELETE', `/v1/machines/${source}`)
  await eventually('the source is gone', async () => {
    const { status } = await server.api.call('GET', `/v1/machines/${source}`)
    return status === 404
  })
  assert.equal((await server.api.ok('GET', `/v1/snapshots/${snapshot}`)).state, 'ready')
  assert.equal(await steps.read(forks[0]!), 'second stop')
  const machine = await server.api.ok('POST', '/v1/machines', { template })
  assert.equal(await steps.read(machine.id), 'before')
  await server.api.ok('DELETE', `/v1/machines/${machine.id}`)

  // A template can be deleted without its snapshot, and the other way round.
  await server.api.ok('DELETE', `/v1/templates/${template}`)
  const again = await server.api.ok('POST', '/v1/templates', {
    name: 'again',
    snapshot_id: snapshot,
  })
  const { data } = await server.api.ok('GET', `/v1/snapshots?machine_id=${source}&limit=100`)
  for (const { id } of data) await server.api.ok('DELETE', `/v1/snapshots/${id}`)
  const last = await server.api.ok('POST', '/v1/machines', { template: again.id })
  assert.equal(await steps.read(last.id), 'before')
})

test('each of many snapshots of one machine pauses it only briefly, and is complete', async (t) => {
  await limitSnapshots(maxSnapshots)
  const { id } = await server.api.ok('POST', '/v1/machines', { name: 'deep' })
  await server.api.ok('PUT', `/v1/machines/${id}/files/content`, {
    path: 'heartbeat.py',
    content: heartbeat,
  })
  await server.api.launch(id, 'python3 heartbeat.py')
  const taken: string[] = []
  const quiet: Window[] = []
  const captures: Window[] = []
  for (let count = 0; count < maxSnapshots; count++) {
    await steps.write(id, `snapshot ${count}`)
    const asked = Date.now()
    const { id: snapshotId } = await server.api.ok('POST', '/v1/snapshots', { machine_id: id })
    assert.equal((await steps.settled(snapshotId)).state, 'ready')
    captures.push({ from: asked, to: Date.now() })
    taken.push(snapshotId)
    // Measure the gaps that other load on the host causes, for the same time without a capture.
    await delay(Date.now() - asked)
    quiet.push({ from: captures.at(-1)!.to, to: Date.now() })
  }
  const full = await server.api.call('POST', '/v1/snapshots', { machine_id: id })
  assert.deepEqual([full.status, full.body.error.code], [402, 'quota_exceeded'])
  assert.deepEqual(
    [full.body.error.quota.limit, full.body.error.quota.maximum],
    ['snapshots_per_machine', maxSnapshots],
  )

  const beats = await stopHeartbeat(id)
  // Other load on the host causes gaps, too; the bench of forks has the exact figures.
  const pauses = captures.map((one) => gapIn(beats, one))
  const { p50, p95 } = distribution(pauses)
  const { p95: noise } = distribution(quiet.map((one) => gapIn(beats, one)))
  t.diagnostic(`captures pause for ${p50} ms, p95 ${p95} ms; noise p95 ${noise} ms`)
  // Other test files cause gaps of any length; a soak runs alone.
  if (isSoak()) assert.ok(p50 <= 100 + noise)

  const path = `/v1/snapshots/${taken[maxSnapshots - 2]}`
  const refused = await server.api.call('DELETE', path)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, new RegExp(taken[maxSnapshots - 1]!))
  for (const index of [0, Math.floor(maxSnapshots / 2)]) {
    await steps.restore(id, taken[index]!)
    assert.equal(await steps.read(id), `snapshot ${index}`)
  }
})

async function limitSnapshots(snapshots: number): Promise<void> {
  const { organization } = await server.api.ok('GET', '/v1/auth/me')
  const limits = { snapshots_per_machine: String(snapshots) }
  const plan = { organizationId: organization.id, planId: 'startup', limits }
  await runAdmin(server.dataDir, { command: 'org set-plan', ...plan })
}

/** Builds and installs a package without network. */
const installPackage = `
mkdir -p /tmp/carried/DEBIAN /tmp/carried/usr/local/bin
printf 'Package: carried\\nVersion: 1\\nArchitecture: all\\nMaintainer: Nobody <nobody@localhost>\\nDescription: A program\\n' > /tmp/carried/DEBIAN/control
printf '#!/bin/sh\\necho carried along\\n' > /tmp/carried/usr/local/bin/carried
chmod 755 /tmp/carried/usr/local/bin/carried
dpkg-deb --build /tmp/carried /tmp/carried.deb
dpkg -i /tmp/carried.deb
`

/** Asserts that the machine has the disk of the snapshot: file, package and cookie. */
async function assertBefore(id: string): Promise<void> {
  assert.equal(await steps.read(id), 'before')
  assert.equal(await server.api.run(id, ['carried']), 'carried along\n')
  assert.match(await server.api.run(id, ['dpkg', '-s', 'carried']), /Status: install ok installed/)
  assert.equal(await readCookie(server.api, id), 'visit=before')
}

async function answerOf(id: string, command: string): Promise<string> {
  return eventually(`${command} answers`, async () => {
    const text = (await server.api.run(id, ['sh', '-c', command])).trim()
    return text === '' ? undefined : text
  })
}

type Window = { readonly from: number; readonly to: number }

/** Beats a thousand times a second and records late beats, by the host's clock. */
const heartbeat = `
import os, time
last = time.time()
with open('late.txt', 'w') as out:
    while not os.path.exists('stop'):
        time.sleep(0.001)
        now = time.time()
        if now - last > 0.005:
            print(last * 1000, now * 1000, file=out)
        last = now
    print('end', file=out)
`

async function stopHeartbeat(id: string): Promise<Window[]> {
  await server.api.run(id, ['touch', 'stop'])
  const text = await eventually('the heartbeat has stopped', async () => {
    const late = await server.api.run(id, ['cat', 'late.txt'])
    return late.endsWith('end\n') ? late : undefined
  })
  return [...text.matchAll(/^([\d.]+) ([\d.]+)$/gm)].map(([, from, to]) => ({
    from: Number(from),
    to: Number(to),
  }))
}

/** The longest time without a beat that overlaps the window. */
function gapIn(late: readonly Window[], { from, to }: Window): number {
  const gaps = late.filter((gap) => gap.to > from && gap.from < to)
  return Math.max(0, ...gaps.map((gap) => gap.to - gap.from))
}

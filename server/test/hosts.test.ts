import { CreateMachine, type MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { getImage, registerImage } from '../src/domain/disks/images.ts'
import { holdDuties } from '../src/domain/hosts/duties.ts'
import { listHosts } from '../src/domain/hosts/hosts.ts'
import { createMachine } from '../src/domain/machines/creation.ts'
import { listWarm } from '../src/domain/machines/warm-machines.ts'
import { newId } from '../src/ids.ts'
import { reconcileAll } from '../src/worker/reconcile.ts'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import {
  bothReady,
  createOn as createOnHost,
  hostOf as hostOfMachine,
  runIn,
  setHost,
} from './hosts.ts'
import { eventually, gone } from './settled.ts'

/* One server on two hosts, each with an engine and a worker. */

const other = 'host-2'
const server = await startTestServer({ after }, { otherHosts: [other], plan: 'startup' })
const { call } = server
const { db } = server.app
const disks = onDisksOf(server)
await bothReady(server)

test('machines go to the host with the least memory promised, and answer on either', async () => {
  const machines = await Promise.all([0, 1].map(async () => create()))
  const [first, second] = [await hostOf(machines[0]!), await hostOf(machines[1]!)]
  // Two at once may have chosen the same.
  const third = await create()
  const fourth = await create()
  const hosts = new Set([first, second, await hostOf(third), await hostOf(fourth)])
  assert.deepEqual([...hosts].sort(), [other, 'local'])
  for (const id of [...machines, third, fourth]) {
    const host = await hostOf(id)
    assert.deepEqual(await holders(id), [host])
    assert.equal(await run(id, 'echo here'), 'here\n')
    assert.equal((await call('GET', `/v1/machines/${id}/files?path=/home/agent`)).status, 200)
  }
})

test('forks, restores and machines of a template are made where their disk is', async () => {
  for (const host of ['local', other]) {
    const id = await createOn(host)
    await run(id, 'echo kept > mark')
    const { body: fork } = await call('POST', `/v1/machines/${id}/fork`, {})
    assert.equal(await hostOf(fork.id), host)
    const snapshot = await disks.snapshot(id)
    await call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshot.id })
    await disks.machineIn(id, 'running')
    assert.equal(await run(id, 'cat mark'), 'kept\n')
    const { body: template } = await call('POST', '/v1/templates', {
      name: `of-${host}`,
      snapshot_id: snapshot.id,
    })
    const { body: made } = await call('POST', '/v1/machines', { template: template.id })
    assert.equal(await hostOf(made.id), host)
    assert.deepEqual(await holders(made.id), [host])
    assert.equal(await run(made.id, 'cat mark'), 'kept\n')
    for (const gone of [made.id, fork.id, id]) await remove(gone)
    await call('DELETE', `/v1/templates/${template.id}`)
    await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  }
  await eventually(async () => {
    const copies = await db.selectFrom('capture_copies').select('host').execute()
    const captures = await Promise.all(drivers().map(async (driver) => driver.listCaptures()))
    return copies.length === captures.flat().length || undefined
  })
})

test('machines of a host cannot reach the others while these belong to the server', async () => {
  const address = '203.0.113.3'
  const third = { name: 'host-3', region: 'default', peer_address: address }
  const isClosed = () => server.engine.controls.closedAddresses().includes(address)
  await db.insertInto('hosts').values(third).execute()
  await eventually(async () => isClosed() || undefined)
  await setHost(server, third.name, { state: 'removed' })
  await eventually(async () => !isClosed() || undefined)
  await db.deleteFrom('hosts').where('name', '=', third.name).execute()
})

test('a worker leaves what is on the other host alone', async () => {
  const id = await createOn(other)
  const snapshot = await disks.snapshot(id)
  // Long after everything was made, nothing of the other host looks like a stray.
  await reconcileAll(server.app, Date.now() + 60 * 60_000)
  assert.equal((await disks.machineIn(id, 'running')).id, id)
  assert.equal((await call('GET', `/v1/snapshots/${snapshot.id}`)).body.state, 'ready')
  await remove(id)
})

test('a region is a hint: its hosts come first, and others take what it has no room for', async (t) => {
  const { server: apart, place } = await startApart(t)
  await apart.app.db
    .updateTable('hosts')
    .set({ region: 'north' })
    .where('name', '=', other)
    .execute()
  assert.equal(await place({ region: 'north' }), other)
  assert.equal(await place({ region: 'north' }), other)
  assert.equal(await place({ region: 'local' }), 'local')
  await setHost(apart, other, { free_bytes: 0 })
  assert.equal(await place({ region: 'north' }), 'local')
})

test('a host that is full, silent, unhealthy or draining gets no machine while another can take it', async (t) => {
  const { server: apart, place } = await startApart(t)
  const gib = 2 ** 30
  const memory = { memory_total_bytes: 8 * gib, memory_available_bytes: 8 * gib }
  const fine = { ...memory, free_bytes: 2 ** 40, state: 'ready', unhealthy_reason: null } as const
  for (const bad of [
    { free_bytes: gib / 2 },
    { memory_available_bytes: gib / 2 },
    { seen_at: new Date(Date.now() - 60_000) },
    { unhealthy_reason: 'gone' },
    { state: 'draining' },
  ] as const) {
    await setHost(apart, other, { ...fine, seen_at: new Date(), ...bad })
    for (let count = 0; count < 3; count++)
      assert.equal(await place(), 'local', JSON.stringify(bad))
  }
  await setHost(apart, 'local', { free_bytes: 0 })
  await assert.rejects(place(), { message: /the disk of this server is full/ })
  await setHost(apart, 'local', { state: 'lost' })
  await assert.rejects(place(), { message: /no host of this server can take a machine now/ })
})

test('an engine that fails is an event of the machines of its host alone', async () => {
  const [here, there] = [await createOn('local'), await createOn(other)]
  server.engineOf(other).controls.failNext('ping', { times: 1_000_000, ofEngine: true })
  await eventually(async () => (await disks.events(there, /^host/)).length === 1 || undefined)
  assert.deepEqual(await disks.events(here, /^host/), [])
  assert.equal(await hostOf(await create()), 'local')
  server.engineOf(other).controls.recover('ping')
  await bothReady(server)
})

test('a process is ready without the engine of its host while another host can run machines', async (t) => {
  const { server: apart } = await startApart(t)
  apart.engine.controls.failNext('ping', { times: 1_000_000, ofEngine: true })
  assert.equal((await apart.call('GET', '/readyz')).status, 200)
  await setHost(apart, other, { unhealthy_reason: 'gone' })
  const { status, body } = await apart.call('GET', '/readyz')
  assert.deepEqual([status, body.error.message], [503, 'the engine is not ready'])
})

test('a host whose worker is silent is unhealthy, until its worker is back', async (t) => {
  const timing = { hostSilenceMs: 1_000 }
  const apart = await startTestServer(t, { worker: false, otherHosts: [other], timing })
  const events = onDisksOf(apart).events
  apart.startWorker()
  const silent = apart.startOther(other)
  await bothReady(apart)
  await setHost(apart, 'local', { state: 'drained' })
  const { id } = await apart.machine()
  await silent.stop()
  await eventually(async () => (await events(id, /^host/)).length > 0 || undefined)
  assert.deepEqual(await events(id, /^host/, 'message'), ['the host does not answer'])
  const files = await apart.call('GET', `/v1/machines/${id}/files?path=/home/agent`)
  assert.deepEqual([files.status, files.body.error.code], [503, 'compute_unavailable'])
  assert.match(files.body.error.message, /^the host of the machine does not answer/)
  const refused = await apart.call('POST', '/v1/machines', {})
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'compute_unavailable'])
  apart.startOther(other)
  await bothReady(apart)
  assert.equal((await apart.machine()).state, 'running')
})

test('an image that only another host has is added from there', async (t) => {
  const apart = await startTestServer(t, { worker: false, otherHosts: [other] })
  const imageId = await registerImage(apart.app.db, 'local', {
    recipeHash: 'another',
    name: 'Another',
    description: 'Built elsewhere.',
    metadataPath: '/nonexistent/metadata.tar',
    rootfsPath: '/nonexistent/rootfs.tar.zst',
    fingerprint: 'another',
  })
  apart.startOther(other)
  await apart.engine.driver().addImage(imageId, { metadataPath: '', rootfsPath: '' })
  apart.startWorker()
  await bothReady(apart)
  assert.equal(await apart.engineOf(other).driver().hasImage(imageId), true)
  // Another build of the same recipe does not replace files that a host uses.
  const built = { recipeHash: 'another', name: 'Another', description: '', fingerprint: 'rebuilt' }
  const files = { metadataPath: '/rebuilt/metadata.tar', rootfsPath: '/rebuilt/rootfs.tar.zst' }
  assert.equal(await registerImage(apart.app.db, other, { ...built, ...files }), imageId)
  assert.equal((await getImage(apart.app.db, imageId)).fingerprint, 'another')
})

test('duties pass to another host when their holder stops, and when it falls silent', async (t) => {
  const apart = await startTestServer(t, { worker: false, otherHosts: [other] })
  const holder = async () => {
    const { host, held_until: until } = await apart.app.db
      .selectFrom('duties')
      .selectAll()
      .executeTakeFirstOrThrow()
    return until.getTime() > Date.now() ? host : null
  }
  const first = apart.startWorker()
  await eventually(async () => (await holder()) === 'local' || undefined)
  apart.startOther(other)
  await first.stop()
  await eventually(async () => (await holder()) === other || undefined)
  await apart.stopWorkers()
  assert.equal(await holder(), null)
  const gone = { ...apart.app, config: { ...apart.app.config, host: other } }
  assert.equal(await holdDuties(gone), true)
  assert.equal(await holdDuties(apart.app), false)
  apart.startWorker()
  await eventually(async () => (await holder()) === 'local' || undefined)
})

test('each host keeps warm machines of its own', async (t) => {
  const warm = await startTestServer(t, {
    otherHosts: [other],
    env: { COMPUTER_WARM_MACHINES: '1' },
    plan: 'startup',
  })
  const ready = async () =>
    (await listWarm(warm.app.db)).flatMap(({ state, host }) => (state === 'ready' ? host : []))
  await eventually(async () => (await ready()).length === 2 || undefined)
  assert.deepEqual((await ready()).sort(), [other, 'local'])
  await setHost(warm, 'local', { state: 'draining' })
  const { id } = await warm.machine()
  const row = await warm.app.db.selectFrom('machines').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([row.id, row.host, row.requested_id !== null], [id, other, true])
})

async function create(input: Record<string, unknown> = {}): Promise<MachineId> {
  return (await server.machine(input)).id
}

const run = (id: string, command: string) => runIn(server, id, command)
const createOn = (host: string) => createOnHost(server, host)

async function remove(id: string): Promise<void> {
  await call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
}

const hostOf = (id: string) => hostOfMachine(server, id)

function drivers() {
  return [server.engine.driver(), server.engineOf(other).driver()]
}

/** The hosts whose engine has the machine. */
async function holders(id: string): Promise<string[]> {
  const [here, there] = await Promise.all(drivers().map(async (driver) => driver.list()))
  const has = (list: typeof here) => list!.some(({ ref }) => ref.id === id)
  return [...(has(here) ? ['local'] : []), ...(has(there) ? [other] : [])]
}

/** A server whose workers have looked at their hosts once, and go on no more. */
async function startApart(t: TestContext) {
  const apart = await startTestServer(t, { otherHosts: [other], plan: 'startup' })
  await bothReady(apart)
  await eventually(async () => {
    const hosts = await listHosts(apart.app.db)
    return hosts.every(({ free_bytes: free }) => free !== null) || undefined
  })
  await apart.stopWorkers()
  const owner = await apart.user('owner')
  const place = async (input: object = {}) =>
    (await createMachine(apart.app, owner, newId('mch'), CreateMachine.parse(input))).host
  return { server: apart, place }
}

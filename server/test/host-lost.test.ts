import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drainHost } from '../src/domain/hosts/states.ts'
import { giveUpHost } from '../src/domain/machines/lost-host.ts'
import { hostOf, setHost } from './hosts.ts'
import { eventually } from './settled.ts'
import { other, startTwoHosts } from './two-hosts.ts'

/* One of two hosts never comes back. */

const lost = 'the host that had the disk was lost'

test('a host is given up only if it does not answer, and for ever', async (t) => {
  const { server, silence } = await startTwoHosts(t)
  const { app } = server
  await assert.rejects(giveUpHost(app, other), /answers: drain it instead/)
  await assert.rejects(giveUpHost(app, 'nobody'), /host nobody/)
  await silence()
  await silent(server)
  assert.equal((await giveUpHost(app, other)).state, 'lost')
  // After a call that broke off.
  assert.equal((await giveUpHost(app, other)).state, 'lost')
  await assert.rejects(drainHost(app.db, other), /is lost; it must be ready/)
})

test('machines of a lost host are in error, and can be restored to what another host has', async (t) => {
  const { server, call, disks, createOn, run, silence } = await startTwoHosts(t)
  const [id, bare, stopped] = [await createOn(other), await createOn(other), await createOn(other)]
  await run(id, 'echo kept > mark')
  await disks.move(stopped, 'stop')
  await eventually(
    async () => (await disks.snapshotsOf(stopped, '&state=ready')).length === 1 || undefined,
  )
  const [copied, only] = [await disks.snapshot(id), await disks.snapshot(bare)]
  await copyTo(server, copied.id)
  await silence()
  await silent(server)
  const { machines, captures } = await giveUpHost(server.app, other)
  // Of the machine that was stopped there is a snapshot of the stop.
  assert.deepEqual([machines, captures], [3, 2])
  for (const machine of [id, bare, stopped]) {
    await disks.machineIn(machine, 'error')
    assert.equal(await hostOf(server, machine), 'local')
    assert.equal((await disks.events(machine, /machine.failed/, 'message'))[0] !== undefined, true)
  }
  assert.equal((await call('GET', `/v1/snapshots/${copied.id}`)).body.state, 'ready')
  const { body: gone } = await call('GET', `/v1/snapshots/${only.id}`)
  assert.deepEqual([gone.state, gone.error], ['error', lost])
  const failed = await disks.events(bare, /snapshot.failed/, 'message')
  assert.match(failed[0]!, /: the host that had the disk was lost$/)

  await call('POST', `/v1/machines/${id}/restore`, { snapshot_id: copied.id })
  await eventually(async () => (await disks.row(id)).restore_capture_id === null || undefined)
  await disks.move(id, 'start')
  assert.equal(await run(id, 'cat mark'), 'kept\n')
  // One without a snapshot can only be deleted.
  await call('POST', `/v1/machines/${bare}/start`)
  await disks.machineIn(bare, 'error')
  for (const machine of [bare, stopped]) {
    assert.equal((await call('DELETE', `/v1/machines/${machine}`)).status, 202)
    await disks.goneFrom(`/v1/machines/${machine}`)
  }
})

test('a lost snapshot costs nothing any more, and a machine made from it goes on', async (t) => {
  const { server, call, disks, createOn, run, silence } = await startTwoHosts(t)
  const id = await createOn(other)
  await run(id, 'echo kept > mark')
  const snapshot = await disks.snapshot(id)
  await copyTo(server, snapshot.id)
  await setHost(server, other, { state: 'drained' })
  const { body: fork } = await call('POST', `/v1/machines/${id}/fork`, { snapshot_id: snapshot.id })
  await disks.machineIn(fork.id, 'running')
  await server.app.db.deleteFrom('capture_copies').where('host', '=', 'local').execute()
  await setHost(server, other, { state: 'ready' })
  await silence()
  await silent(server)
  await giveUpHost(server.app, other)
  assert.equal(await run(fork.id, 'cat mark'), 'kept\n')
  const open = await server.app.db
    .selectFrom('meter_intervals')
    .select('meter')
    .where('machine_id', '=', id as never)
    .where('ended_at', 'is', null)
    .execute()
  assert.deepEqual(open, [{ meter: 'hot_storage' }])
  assert.equal((await call('DELETE', `/v1/snapshots/${snapshot.id}`)).status, 202)
  await disks.goneFrom(`/v1/snapshots/${snapshot.id}`)
})

type Server = Awaited<ReturnType<typeof startTwoHosts>>['server']

async function silent({ app }: Server): Promise<void> {
  await eventually(async () => {
    const host = await app.db
      .selectFrom('hosts')
      .select('unhealthy_reason')
      .where('name', '=', other)
      .executeTakeFirstOrThrow()
    return host.unhealthy_reason !== null || undefined
  })
}

/** The first host gets a copy of a snapshot. */
async function copyTo({ app }: Server, snapshotId: string): Promise<void> {
  const { capture_id: id } = await app.db
    .selectFrom('snapshots')
    .select('capture_id')
    .where('id', '=', snapshotId as never)
    .executeTakeFirstOrThrow()
  await app.db
    .insertInto('capture_copies')
    .values({ capture_id: id, host: 'local', state: 'wanted' })
    .execute()
  await eventually(async () => {
    const copies = await app.db
      .selectFrom('capture_copies')
      .select('host')
      .where('capture_id', '=', id)
      .where('state', '=', 'ready')
      .execute()
    return copies.length === 2 || undefined
  })
}

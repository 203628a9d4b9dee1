import { MachineEventType } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { appendEvent } from '../src/domain/events/events.ts'
import { startTestServer } from './harness.ts'
import { gone } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('a new machine has its events, newest first, with every field of the contract', async () => {
  const { id } = await server.machine({ start: false })
  const { status, body } = await server.call('GET', `/v1/machines/${id}/events`)
  assert.equal(status, 200)
  assert.deepEqual([body.has_more, body.next_cursor], [false, null])
  const [stopped, created] = body.data
  const { id: eventId, occurred_at, organization_id, ...rest } = stopped
  assert.match(eventId, /^evt_[0-9a-z]{26}$/)
  assert.match(organization_id, /^org_/)
  assert.ok(Date.parse(occurred_at) >= Date.parse(created.occurred_at))
  assert.deepEqual(rest, {
    type: 'machine.stopped',
    machine_id: id,
    session_id: null,
    from_state: 'creating',
    to_state: 'stopped',
    message: null,
    sequence: created.sequence + 1,
  })
  assert.deepEqual([created.from_state, created.to_state], [null, 'creating'])
})

test('sequences have no gap and no repetition under concurrent writes', async () => {
  const { id } = await server.machine()
  const write = (index: number) => {
    switch (index % 4) {
      case 0:
        return server.call('POST', '/v1/sessions', { machine_id: id })
      case 1:
        return server.call('PATCH', `/v1/machines/${id}`, { metadata: { index: String(index) } })
      case 2:
        return server.call('POST', `/v1/machines/${id}/${index % 8 === 2 ? 'stop' : 'start'}`)
      default:
        return db
          .transaction()
          .execute((tx) => appendEvent(tx, id, { type: 'host.unhealthy' }))
          .then(() => ({ status: 200 }))
    }
  }
  const answers = await Promise.all(Array.from({ length: 48 }, (_, index) => write(index)))
  assert.ok(answers.every(({ status }) => status < 500))
  const events = await allEvents(id, 100)
  const sequences = events.map(({ sequence }) => sequence)
  assert.deepEqual(
    sequences.toReversed(),
    sequences.map((_, index) => index + sequences.at(-1)!),
  )
  assert.ok(sequences.at(-1)! <= 1)
})

test('pages neither skip nor repeat while the log grows', async () => {
  const { id } = await server.machine({ start: false })
  for (let index = 0; index < 12; index++) {
    await server.call('PATCH', `/v1/machines/${id}`, { metadata: { index: String(index) } })
  }
  const whole = (await allEvents(id, 100)).map((event) => event.id)
  const paged: string[] = []
  let cursor = ''
  do {
    const path = `/v1/machines/${id}/events?limit=5${cursor && `&cursor=${cursor}`}`
    const { body } = await server.call('GET', path)
    assert.ok(body.data.length <= 5)
    assert.equal(body.has_more, body.next_cursor !== null)
    paged.push(...body.data.map((event: { id: string }) => event.id))
    cursor = body.next_cursor ?? ''
    await server.call('PATCH', `/v1/machines/${id}`, { metadata: { more: cursor } })
  } while (cursor)
  assert.deepEqual(paged, whole)
})

test('the log is filtered by one or several types, page by page', async () => {
  const { id } = await server.machine({ start: false })
  for (let index = 0; index < 3; index++) {
    await server.call('PATCH', `/v1/machines/${id}`, { metadata: { index: String(index) } })
    await db.transaction().execute((tx) => appendEvent(tx, id, { type: 'host.unhealthy' }))
  }
  const page = async (query: string) => {
    const { body } = await server.call('GET', `/v1/machines/${id}/events?${query}`)
    const types = body.data.map(({ type }: { type: string }) => type)
    return { types, cursor: body.next_cursor as string | null }
  }
  assert.deepEqual((await page('type=machine.created')).types, ['machine.created'])
  assert.deepEqual((await page('type=machine.created&type=machine.stopped')).types, [
    'machine.stopped',
    'machine.created',
  ])
  const first = await page('type=host.unhealthy&limit=2')
  const second = await page(`type=host.unhealthy&limit=2&cursor=${first.cursor}`)
  assert.deepEqual([first.types.length, second.types.length, second.cursor], [2, 1, null])
  const refused = await server.call('GET', `/v1/machines/${id}/events?type=machine.born`)
  assert.equal(refused.status, 400)
  assert.equal(refused.body.error.details[0].field, 'type')
  assert.match(refused.body.error.message, /one or several of machine\.created, /)
})

test('a page has 25 events unless limit, 1 to 100, says otherwise', async () => {
  const { id } = await server.machine({ start: false })
  await db.transaction().execute(async (tx) => {
    for (let index = 0; index < 30; index++) await appendEvent(tx, id, { type: 'machine.updated' })
  })
  const page = (query: string) => server.call('GET', `/v1/machines/${id}/events${query}`)
  assert.equal((await page('')).body.data.length, 25)
  assert.equal((await page('?limit=1')).body.data.length, 1)
  assert.equal((await page('?limit=100')).body.data.length, 32)
  for (const query of ['?limit=0', '?limit=101', '?cursor=', '?after=1']) {
    assert.equal((await page(query)).status, 400, query)
  }
})

test('the types are those of the specification', () => {
  assert.deepEqual(MachineEventType.options.toSorted(), [
    'host.unhealthy',
    'machine.created',
    'machine.deleted',
    'machine.failed',
    'machine.ready',
    'machine.restore_completed',
    'machine.restore_failed',
    'machine.restore_started',
    'machine.started',
    'machine.stopped',
    'machine.updated',
    'session.connected',
    'session.control_acquired',
    'session.control_released',
    'session.disconnected',
    'snapshot.completed',
    'snapshot.deleted',
    'snapshot.failed',
    'snapshot.started',
  ])
})

test('the log ends with the deletion, and cannot be read after it', async () => {
  const { id } = await server.machine()
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)
  assert.equal((await server.call('GET', `/v1/machines/${id}/events`)).status, 404)
  const rows = await db
    .selectFrom('machine_events')
    .select(['type', 'from_state', 'to_state'])
    .where('machine_id', '=', id)
    .orderBy('sequence', 'desc')
    .limit(2)
    .execute()
  assert.deepEqual(rows, [
    { type: 'machine.deleted', from_state: 'deleting', to_state: null },
    { type: 'machine.updated', from_state: 'running', to_state: 'deleting' },
  ])
})

async function allEvents(id: string, limit: number): Promise<{ id: string; sequence: number }[]> {
  const { body } = await server.call('GET', `/v1/machines/${id}/events?limit=${limit}`)
  assert.equal(body.has_more, false)
  return body.data
}

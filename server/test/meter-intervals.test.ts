import { MachineEvent, type MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app
const { controls } = server.engine
const gibibyte = 2 ** 30

test('a machine is metered from its first run to its deletion, at the times of its events', async () => {
  const { id } = await server.machine()
  await move(id, 'restart')
  await move(id, 'stop')
  await server.call('PATCH', `/v1/machines/${id}`, { name: 'renamed' })
  await server.call('PATCH', `/v1/machines/${id}`, { size: 'large' })
  await move(id, 'start')
  await server.call('DELETE', `/v1/machines/${id}`)
  await gone(server, id)

  const at = await timesOf(id)
  assert.deepEqual(await intervalsOf(id), [
    ['hot_storage', null, 10 * gibibyte, at('creating>running'), at('resized')],
    ['compute', 'small', null, at('creating>running'), at('stopping>stopped')],
    ['compute', 'small', null, at('starting>running'), at('stopping>stopped', 1)],
    ['hot_storage', null, 50 * gibibyte, at('resized'), at('running>deleting')],
    ['compute', 'large', null, at('starting>running', 1), at('running>deleting')],
  ])
  await checkMeters(db)
})

test('a machine born stopped costs storage and no compute; one that could not be made, neither', async () => {
  const { id } = await server.machine({ start: false, size: 'standard' })
  const at = await timesOf(id)
  const disk = ['hot_storage', null, 25 * gibibyte, at('creating>stopped'), null]
  assert.deepEqual(await intervalsOf(id), [disk])

  controls.failNext('create', { retryable: false })
  const broken = await server.machine()
  assert.deepEqual([broken.state, await intervalsOf(broken.id)], ['error', []])
  await move(broken.id, 'start')
  const meters = (await intervalsOf(broken.id)).map(([meter]) => meter)
  assert.deepEqual(meters.sort(), ['compute', 'hot_storage'])
  await checkMeters(db)
})

test('a machine that dies or powers itself off ends its compute and keeps its storage', async () => {
  for (const end of ['die', 'powerOff'] as const) {
    const { id } = await server.machine()
    controls[end]({ id, generation: 1 })
    await settled(server, id, end === 'die' ? 'error' : 'stopped')
    const at = await timesOf(id)
    const open = (await intervalsOf(id)).filter(([, , , , endedAt]) => endedAt === null)
    assert.deepEqual(open, [['hot_storage', null, 10 * gibibyte, at('creating>running'), null]])
  }
  await checkMeters(db)
})

test('facts are in the log and in no answer', async () => {
  const { id } = await server.machine({ start: false })
  const { body } = await server.call('GET', `/v1/machines/${id}/events`)
  const fields = Object.keys(MachineEvent.shape).sort()
  for (const event of body.data) assert.deepEqual(Object.keys(event).sort(), fields)
  const rows = await db
    .selectFrom('machine_events')
    .select('facts')
    .where('machine_id', '=', id)
    .execute()
  assert.deepEqual(rows[0]!.facts, { size: 'small', disk_bytes: 10 * gibibyte })
})

const steps = [
  ...(['start', 'stop', 'force', 'restart', 'rename', 'standard', 'large'] as const),
  ...(['powerOff', 'die', 'fail', 'delete'] as const),
]
type Step = (typeof steps)[number]

test('however a life goes, the intervals are those that its log says', async () => {
  const lives = fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(fc.boolean(), lives, async (start, life) => {
      const { id } = await server.machine({ start })
      for (const next of life) {
        await live(id, next)
        await checkMeters(db)
      }
      await live(id, 'delete')
      await checkMeters(db)
    }),
    { numRuns: 25 },
  )
})

async function live(id: MachineId, step: Step): Promise<void> {
  const path = `/v1/machines/${id}`
  const { status, body } = await server.call('GET', path)
  if (status === 404) return
  switch (step) {
    case 'rename':
      await server.call('PATCH', path, { metadata: { renamed: 'yes' } })
      return
    case 'standard':
    case 'large':
      await server.call('PATCH', path, { size: step })
      return
    case 'powerOff':
    case 'die':
      if (body.state !== 'running') return
      controls[step]({ id, generation: 1 })
      return settled(server, id, step === 'die' ? 'error' : 'stopped')
    case 'fail':
      if (body.state === 'running') return
      controls.failNext('start', { retryable: false })
      return move(id, 'start')
    case 'force':
      await server.call('POST', `${path}/stop?wait=20`, { force: true })
      return
    case 'delete':
      await server.call('DELETE', path)
      return gone(server, id)
    default:
      return move(id, step)
  }
}

/** Asks for a change of state, which may be refused, and waits until the machine rests. */
async function move(id: MachineId, path: 'start' | 'stop' | 'restart'): Promise<void> {
  await server.call('POST', `/v1/machines/${id}/${path}?wait=20`)
}

/** A machine's intervals, oldest first. */
async function intervalsOf(id: MachineId) {
  const rows = await db
    .selectFrom('meter_intervals')
    .selectAll()
    .where('machine_id', '=', id)
    .orderBy('started_at')
    .orderBy('meter', 'desc')
    .execute()
  return rows.map((row) => [row.meter, row.size, row.bytes, row.started_at, row.ended_at])
}

/** When a machine made its nth move, as the API shows it. */
async function timesOf(id: MachineId) {
  const events = await db
    .selectFrom('machine_events')
    .selectAll()
    .where('machine_id', '=', id)
    .orderBy('sequence')
    .execute()
  return (move: string, nth = 0): Date => {
    const named = events.filter(({ from_state: from, to_state: to, facts }) =>
      to === null && facts ? move === 'resized' : move === `${from}>${to}`,
    )
    return named[nth]!.occurred_at
  }
}

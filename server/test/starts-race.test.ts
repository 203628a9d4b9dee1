import type { QuotaLimit } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { soakSize } from '../../scripts/soak/sizes.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer, type Answer } from './harness.ts'
import { givePlan } from './plans.ts'

/* Fifty calls at once for the last place of a limit, all of which wait for the same lock: one gets it. */

const callers = 50
const { places: rounds } = soakSize('races')

const server = await startTestServer({ after }, { connections: callers + 4 })
const { db, changes } = server.app
const room = { machines: 1_000, running_machines: 1_000 }
const organizationId = (await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow())
  .id
await givePlan(db, { planId: 'startup', terms: room })
const stopped: string[] = []

before(async () => {
  for (let count = 0; count < callers; count++)
    stopped.push((await server.machine({ start: false })).id)
  // From here on rows change by the calls alone.
  await server.stopWorkers()
})

const starts = () => stopped.map((id) => () => server.call('POST', `/v1/machines/${id}/start`))
const creations = (input: object) => () =>
  Array.from({ length: callers }, () => () => server.call('POST', '/v1/machines', input))
/** Half of the calls make a machine that runs at once. */
const both = () => [...starts().slice(0, callers / 2), ...creations({})().slice(0, callers / 2)]
const races: readonly [QuotaLimit, string, () => (() => Promise<Answer>)[]][] = [
  ['running_machines', 'start', starts],
  ['running_machines', 'create', creations({})],
  ['running_machines', 'start and create', both],
  ['machines', 'create', creations({ start: false })],
]

for (const [limit, action, calls] of races) {
  test(`${rounds} times, one of ${callers} calls to ${action} gets the last of ${limit}`, async () => {
    for (let round = 0; round < rounds; round++) {
      const { [limit]: current } = await counts()
      await givePlan(db, { terms: { ...room, [limit]: current + 1 } })
      const answers = await untilAnswered(
        collide(db, holdOrganization(organizationId), calls()),
        letCreationsEnd,
      )
      const won = answers.filter(isGood)
      assert.equal(won.length, 1, JSON.stringify(answers.map(({ status }) => status)))
      for (const { body } of answers.filter((answer) => !isGood(answer))) {
        assert.equal(body.error.code, 'quota_exceeded', JSON.stringify(body))
        const full = { limit, current: current + 1, maximum: current + 1 }
        assert.partialDeepStrictEqual(body.error.quota, full)
      }
      assert.equal((await counts())[limit], current + 1)
      await undo(won[0]!.body.id)
    }
  })
}

function isGood({ status }: Answer): boolean {
  return status >= 200 && status < 300
}

async function counts(): Promise<Record<QuotaLimit, number>> {
  const { body } = await server.call('GET', '/v1/billing')
  const limits = body.limits as { key: QuotaLimit; current: number }[]
  return Object.fromEntries(limits.map(({ key, current }) => [key, current])) as never
}

async function untilAnswered<T>(answers: Promise<T>, work: () => Promise<void>): Promise<T> {
  let isDone = false
  void answers.finally(() => (isDone = true)).catch(() => {})
  while (!isDone) {
    await work()
    await delay(10)
  }
  return answers
}

/** A creation answers once its machine rests or runs. */
async function letCreationsEnd(): Promise<void> {
  const rows = await db
    .updateTable('machines')
    .set({ state: sql`case wanted when 'running' then 'running' else 'stopped' end` })
    .where('state', '=', 'creating')
    .returning('id')
    .execute()
  for (const { id } of rows) changes.publish(id)
}

/** Gives the place back: a machine that was started rests again, and one that was made is gone. */
async function undo(id: string): Promise<void> {
  if (stopped.includes(id)) {
    await sql`update machines set state = 'stopped', wanted = 'stopped' where id = ${id}`.execute(
      db,
    )
    return
  }
  await sql`update machines set deleted_at = now() where id = ${id}`.execute(db)
  await sql`update uid_slots set machine_id = null where machine_id = ${id}`.execute(db)
}

import type { Budget, BudgetScope } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createMachine } from '../src/domain/machines/creation.ts'
import { forkMachine } from '../src/domain/machines/forks.ts'
import { restartMachine, startMachine } from '../src/domain/machines/machines.ts'
import { newId } from '../src/ids.ts'
import { budgetFacts } from './budget-facts.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })
const { app } = server
const { db } = app
const facts = budgetFacts(server)
const hour = { type: 'standard_hours', value: '0.01' } as const
const cents = { type: 'list_price_cents', value: '1' } as const
/** The seconds of standard that use up each limit. */
const whole = { standard_hours: 36, list_price_cents: 360 } as const

for (const limit of [hour, cents]) {
  for (const window of ['day', 'week', 'month', 'once'] as const) {
    for (const action of ['notify', 'refuse', 'stop'] as const) {
      test(`starts in each scope of ${limit.type} of a ${window} that is used up: ${action}`, async () => {
        const { actor, budget, machine, organizationId } = await facts.newOrganization()
        await facts.setLabelKeys(organizationId, ['team'])
        const { id: keyId } = await facts.keyOf(actor)
        const asKey = {
          ...actor,
          principal: { type: 'api_key', id: keyId, name: 'A key' },
        } as const
        const inside = await machine({ metadata: { team: 'red' } })
        const outside = await machine({ metadata: { team: 'blue' } })
        const scopes: BudgetScope[] = [
          { type: 'organization' },
          { type: 'api_key', api_key_id: keyId },
          { type: 'machine', machine_id: inside.id },
          { type: 'label', label: { key: 'team', value: 'red' } },
        ]
        for (const scope of scopes) {
          const limited = await budget({ scope, limit, window, action })
          await facts.compute(limited, whole[limit.type], {
            machineId: inside.id,
            actor: { type: 'api_key', id: keyId },
            labels: { team: 'red' },
          })
          const start = startMachine(app, asKey, inside.id)
          if (action === 'notify') {
            await start
            await rest(organizationId)
          } else await assertRefused(start, limited)
          if (scope.type !== 'organization') {
            await startMachine(app, actor, outside.id)
            await rest(organizationId)
          }
          await sql`delete from meter_intervals where organization_id = ${organizationId}`.execute(
            db,
          )
          await sql`delete from budgets where organization_id = ${organizationId}`.execute(db)
        }
      })
    }
  }
}

test('creations and forks that would run are refused, those that would not are made', async () => {
  const { actor, budget, machine } = await facts.newOrganization()
  const { id: machineId } = await machine()
  const limited = await budget({ limit: hour, action: 'refuse' })
  await facts.compute(limited, 36, { machineId })
  const create = (start: boolean) =>
    createMachine(app, actor, newId('mch'), { metadata: {}, start })
  await assertRefused(create(true), limited)
  assert.equal((await create(false)).wanted, 'stopped')
  await sql`update machines set state = 'running', wanted = 'running' where id = ${machineId}`.execute(
    db,
  )
  await assertRefused(forkMachine(app, actor, machineId, newId('mch'), {}), limited)
  // A restart goes on with a run that was admitted.
  assert.equal((await restartMachine(app, actor, machineId)).wanted, 'running')
})

test('the labels that a new machine will have are those of its budget', async () => {
  const { actor, budget, machine, organizationId } = await facts.newOrganization()
  await facts.setLabelKeys(organizationId, ['team'])
  const label = { key: 'team', value: 'red' }
  const limited = await budget({ limit: hour, action: 'refuse', scope: { type: 'label', label } })
  const { id: machineId } = await machine()
  await facts.compute(limited, 36, { machineId, labels: { team: 'red' } })
  const create = (metadata: Record<string, string>) =>
    createMachine(app, actor, newId('mch'), { metadata, start: true })
  await assertRefused(create({ team: 'red', other: 'x' }), limited)
  assert.deepEqual((await create({ team: 'blue', other: 'red' })).labels, { team: 'blue' })
})

test('only those start for which a minimum run is left, until a run is over or the budget is raised', async () => {
  const { actor, budget, machine, organizationId, call } = await facts.newOrganization()
  // A minute of standard is a sixtieth of an hour: room for three.
  const limited = await budget({ limit: { ...hour, value: '0.05' }, action: 'refuse' })
  const machines = []
  for (let index = 0; index < 5; index++) machines.push(await machine({ size: 'standard' }))
  const [one, two, three, four, five] = machines.map(({ id }) => id)
  for (const id of [one, two, three]) await startMachine(app, actor, id!)
  await assertRefused(startMachine(app, actor, four!), limited)
  const small = await machine({ size: 'small' })
  await assertRefused(startMachine(app, actor, small.id), limited)
  // One that has run for longer than its minute keeps nothing; what it used is counted.
  await sql`update machines set state = 'running', started_at = now() - interval '61 seconds'
    where id = ${one}`.execute(db)
  await startMachine(app, actor, four!)
  await assertRefused(startMachine(app, actor, five!), limited)
  await call('PATCH', `/v1/budgets/${limited.id}`, { limit: { ...hour, value: '0.1' } })
  await startMachine(app, actor, five!)
  await rest(organizationId)
  await call('PATCH', `/v1/budgets/${limited.id}`, { minimum_run_seconds: 361 })
  await assertRefused(startMachine(app, actor, five!), limited)
  assert.equal((await call('DELETE', `/v1/budgets/${limited.id}`)).status, 204)
  await startMachine(app, actor, five!)
})

test('the refusal names the budget, what is used, when it begins anew and what to do', async () => {
  const { call, budget, machine } = await facts.newOrganization()
  const { id } = await machine()
  const limited = await budget({ name: 'night\nly', limit: cents, window: 'day', action: 'refuse' })
  await facts.compute(limited, 360, { machineId: id })
  const { status, body } = await call('POST', `/v1/machines/${id}/start`)
  assert.equal(status, 402)
  const { code, message, quota, details } = body.error
  assert.deepEqual([code, quota], ['quota_exceeded', undefined])
  assert.deepEqual(details, [{ field: 'budget', message: `${limited.id} is used up or reserved` }])
  const expected = `budget "night ly" (${limited.id}) has no room for another start: 0.01 of 0.01 USD at list price of this day used`
  assert.ok(message.startsWith(expected), message)
  assert.ok(message.includes(`its next day begins at ${limited.window_end}`), message)
  assert.match(message, /ask an owner to raise the budget$/)
})

async function assertRefused(start: Promise<unknown>, { id }: Pick<Budget, 'id'>): Promise<void> {
  await assert.rejects(start, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'quota_exceeded', error.stack)
    assert.ok(error.message.includes(id))
    return true
  })
}

/** Lets what starts be stopped. */
async function rest(organizationId: string): Promise<void> {
  await sql`update machines set state = 'stopped', wanted = 'stopped'
    where organization_id = ${organizationId}`.execute(db)
}

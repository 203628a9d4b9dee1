import type { Budget, BudgetScope } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { budgetFacts } from './budget-facts.ts'
import { assertRefused } from './endpoint-calls.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const facts = budgetFacts(server)
const gibibyte = 2 ** 30

test('a budget is created, read, listed, changed and deleted, and the audit log has it', async () => {
  const { call, actor } = await facts.newOrganization()
  const limit = { type: 'list_price_cents', value: '1000' }
  const created = await call('POST', '/v1/budgets', { name: 'All', limit })
  assert.equal(created.status, 201)
  const budget: Budget = created.body
  assert.deepEqual(
    { ...budget, id: '', organization_id: '', created_at: '', window_start: '', window_end: '' },
    {
      id: '',
      organization_id: '',
      name: 'All',
      scope: { type: 'organization' },
      limit,
      window: 'month',
      thresholds: [80, 100],
      action: 'notify',
      minimum_run_seconds: 60,
      used: '0.000000',
      remaining: '1000.000000',
      currency: 'usd',
      window_start: '',
      window_end: '',
      exhausts_at: null,
      exhausted: false,
      created_at: '',
    },
  )
  const path = `/v1/budgets/${budget.id}`
  assert.deepEqual((await call('GET', path)).body, budget)
  const change = {
    name: 'Everything',
    limit: { type: 'list_price_cents', value: '12.5' },
    thresholds: [100, 50],
    action: 'stop',
    minimum_run_seconds: 5,
  }
  const changed = await call('PATCH', path, change)
  const stored = { ...budget, ...change, thresholds: [50, 100], remaining: '12.500000' }
  assert.deepEqual(changed.body, stored)
  assert.deepEqual((await call('PATCH', path, {})).body, stored)
  assert.deepEqual((await call('GET', '/v1/budgets')).body.data, [stored])
  assert.equal((await call('DELETE', path)).status, 204)
  for (const method of ['GET', 'PATCH', 'DELETE'] as const)
    assertRefused(await call(method, path), 'not_found', method)
  const audit = await db
    .selectFrom('audit_events')
    .select(['type', 'target_name', 'actor_id'])
    .where('organization_id', '=', actor.organizationId)
    .where('target_type', '=', 'budget')
    .orderBy('id')
    .execute()
  assert.deepEqual(
    audit.map((entry) => [entry.type, entry.target_name, entry.actor_id === actor.userId]),
    [
      ['budget.created', 'All', true],
      ['budget.updated', 'Everything', true],
      ['budget.deleted', 'Everything', true],
    ],
  )
})

test('a creation that is repeated with its idempotency key makes one budget', async () => {
  const { call } = await facts.newOrganization()
  const body = { name: 'Once', limit: { type: 'standard_hours', value: '1' } }
  const headers = { 'idempotency-key': 'the same' }
  const [first, second] = [
    await call('POST', '/v1/budgets', body, headers),
    await call('POST', '/v1/budgets', body, headers),
  ]
  assert.deepEqual(first.body, second.body)
  assertRefused(await call('POST', '/v1/budgets', body), 'conflict', 'the same name')
  assert.equal((await call('GET', '/v1/budgets')).body.data.length, 1)
})

test('lists have pages, and those of a machine have the budgets that it counts for', async () => {
  const { actor, call, budget, machine, organizationId } = await facts.newOrganization()
  await facts.setLabelKeys(organizationId, ['team'])
  const key = await facts.keyOf(actor)
  const own = await machine({ metadata: { team: 'red' } }, key.id)
  const other = await machine({ metadata: { team: 'blue' } })
  const label = (value: string): BudgetScope => ({ type: 'label', label: { key: 'team', value } })
  const all = await budget()
  const ofKey = await budget({ scope: { type: 'api_key', api_key_id: key.id } })
  const ofMachine = await budget({ scope: { type: 'machine', machine_id: own.id } })
  const red = await budget({ scope: label('red') })
  const blue = await budget({ scope: label('blue') })
  const listed = async (query: string) =>
    (await call('GET', `/v1/budgets?${query}`)).body.data.map(({ id }: Budget) => id)
  assert.deepEqual(await listed(`machine_id=${own.id}`), [red, ofMachine, ofKey, all].map(idOf))
  assert.deepEqual(await listed(`machine_id=${other.id}`), [blue, all].map(idOf))
  const first = (await call('GET', '/v1/budgets?limit=2')).body
  const rest = await listed(`cursor=${first.next_cursor}`)
  assert.deepEqual([...first.data.map(idOf), ...rest], [blue, red, ofMachine, ofKey, all].map(idOf))
  const cursor = Buffer.from('mch_01kaj0v3m8q4t2x6y9z1b5c7d3').toString('base64url')
  assertRefused(await call('GET', `/v1/budgets?cursor=${cursor}`), 'invalid_request', 'cursor')
})

test('a scope that names nothing, or too much, is refused', async () => {
  const { call, machine } = await facts.newOrganization()
  const stranger = await facts.newOrganization()
  const foreign = await stranger.machine()
  const foreignKey = await facts.keyOf(stranger.actor)
  const { id: machine_id } = await machine()
  const limit = { type: 'standard_hours', value: '1' }
  const refusals: [object, 'invalid_request' | 'not_found', string?][] = [
    [{ type: 'machine' }, 'invalid_request', 'scope.machine_id'],
    [{ type: 'organization', machine_id }, 'invalid_request', 'scope.machine_id'],
    [{ type: 'label' }, 'invalid_request', 'scope.label'],
    [{ type: 'label', label: { key: 'team', value: 'a' } }, 'invalid_request', 'scope.label.key'],
    [{ type: 'machine', machine_id: foreign.id }, 'not_found'],
    [{ type: 'api_key', api_key_id: foreignKey.id }, 'not_found'],
  ]
  for (const [scope, code, field] of refusals) {
    const answer = await call('POST', '/v1/budgets', { name: 'Bad', limit, scope })
    assertRefused(answer, code, JSON.stringify(scope))
    if (field) assert.equal(answer.body.error.details[0].field, field)
  }
  for (const value of ['0', '0.0', '-1', '1e3', '1.0000001', '1000000000000000']) {
    const bad = { name: 'Bad', limit: { ...limit, value } }
    assertRefused(await call('POST', '/v1/budgets', bad), 'invalid_request', value)
  }
})

test('the type of a limit stays, and an organization has at most a hundred budgets', async () => {
  const { call, budget } = await facts.newOrganization()
  const first = await budget()
  const limit = { type: 'list_price_cents', value: '1' }
  assertRefused(
    await call('PATCH', `/v1/budgets/${first.id}`, { limit }),
    'invalid_request',
    'type',
  )
  for (let count = 1; count < 100; count++) await budget()
  const body = { name: 'One more', limit }
  assertRefused(await call('POST', '/v1/budgets', body), 'conflict', 'too many')
  await call('DELETE', `/v1/budgets/${first.id}`)
  assert.equal((await call('POST', '/v1/budgets', body)).status, 201)
})

for (const window of ['day', 'week', 'month', 'once'] as const) {
  test(`what each scope used in a window of ${window} counts, at list price or by weight`, async () => {
    const { actor, budget, machine, read, organizationId } = await facts.newOrganization()
    await facts.setLabelKeys(organizationId, ['team'])
    const key = await facts.keyOf(actor)
    const [one, two] = [await machine(), await machine()]
    const scopes: BudgetScope[] = [
      { type: 'organization' },
      { type: 'api_key', api_key_id: key.id },
      { type: 'machine', machine_id: one.id },
      { type: 'label', label: { key: 'team', value: 'red' } },
    ]
    const limits = [
      { type: 'list_price_cents', value: '100' },
      { type: 'standard_hours', value: '0.01' },
    ] as const
    const budgets: Budget[] = []
    for (const limit of limits)
      for (const scope of scopes) budgets.push(await budget({ scope, limit, window }))
    const any = budgets[0]!
    const byKey = { actor: { type: 'api_key', id: key.id } } as const
    const byUser = { actor: { type: 'user', id: key.id } } as const
    const red = { labels: { team: 'red' } }
    await facts.compute(any, 9, { machineId: one.id, size: 'large', ...byKey, ...red })
    await facts.compute(any, 8, { machineId: one.id, size: 'small', ...byUser })
    await facts.compute(any, 7, { machineId: two.id, ...red })
    await facts.egress(any, 100 * gibibyte, { machineId: two.id, ...byKey, ...red })
    await facts.storage(any, 3e17, { machineId: one.id, ...byUser, ...red })
    await facts.storage(any, 2e17, { machineId: two.id, meter: 'cold_storage', ...byKey })
    await Promise.all(budgets.map(facts.unsettle))

    // Of large, a second counts two; of small, a half.
    const seconds = [18 + 4 + 7, 18, 18 + 4, 18 + 7]
    const prices = await pricesOf()
    const bytes = prices('egress', 100n * BigInt(gibibyte))
    const hot = prices('hot_storage', BigInt(3e17))
    const cold = prices('cold_storage', BigInt(2e17))
    const others = [bytes + hot + cold, bytes + cold, hot, bytes + hot]
    for (const [index, each] of budgets.entries()) {
      const { used, remaining, limit, window: own } = await read(each)
      const compute = seconds[index % 4]!
      const cents = prices('compute', BigInt(compute * 1_000)) + others[index % 4]!
      const expected = index < 4 ? cents : compute / 3_600
      assert.ok(Math.abs(Number(used) - expected) < 2e-6, `${each.scope.type} ${used} ${expected}`)
      const left = Math.max(0, Number(limit.value) - Number(used))
      assert.ok(Math.abs(Number(remaining) - left) < 1e-9)
      assert.equal(own, window)
    }
  })
}

test('bytes of the hour before the creation of a budget of once do not count, whole hours after do', async () => {
  const { budget, read, machine } = await facts.newOrganization()
  const { id: machineId } = await machine()
  const limit = { type: 'list_price_cents', value: '100000' } as const
  const first = await budget({ limit }, { isNew: true })
  const insert = (bytes: number) =>
    sql`
    insert into egress_counts (flush_id, machine_id, organization_id, bytes, counted_at)
    values (${crypto.randomUUID()}, ${machineId}, ${first.organization_id}, ${bytes},
      clock_timestamp())`.execute(db)
  await insert(gibibyte)
  const second = await budget({ limit }, { isNew: true })
  await insert(2 * gibibyte)
  const price = (await pricesOf())('egress', BigInt(gibibyte))
  const used = async () => [Number((await read(first)).used), Number((await read(second)).used)]
  assert.deepEqual(await used(), [3 * price, 2 * price])
  // Compaction moves what was counted to the beginning of its hour.
  await sql`update egress_counts set counted_at = date_trunc('hour', counted_at, 'UTC')`.execute(db)
  assert.deepEqual(await used(), [3 * price, 2 * price])
})

test('a deleted organization has no budgets', async () => {
  const person = await server.signUp()
  const { body } = await person.call('POST', '/v1/organizations', { name: 'Short-lived' })
  await person.call('POST', '/v1/auth/switch-organization', { organization_id: body.id })
  await person.call('POST', '/v1/budgets', {
    name: 'Gone',
    limit: { type: 'standard_hours', value: '1' },
  })
  const count = () => sql`select from budgets where organization_id = ${body.id}`.execute(db)
  assert.equal((await count()).rows.length, 1)
  assert.equal((await person.call('DELETE', `/v1/organizations/${body.id}`)).status, 204)
  assert.equal((await count()).rows.length, 0)
})

function idOf({ id }: Pick<Budget, 'id'>): string {
  return id
}

/** Cents of a quantity at list price. */
async function pricesOf() {
  const rows = await db.selectFrom('catalog_prices').selectAll().execute()
  return (item: string, quantity: bigint): number => {
    const { cents, per_units } = rows.find((row) => row.item === item)!
    return Number(quantity * BigInt(cents ?? 0)) / Number(per_units)
  }
}

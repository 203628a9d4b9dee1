import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { monthStart } from './billing-clock.ts'
import { billingFacts } from './billing-facts.ts'
import type { Call } from './harness.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { newOrganization, use } = billingFacts(server)
const start = monthStart(-1).toISOString()

test('usage is summed by caller and by label, and what has none is a group as well', async () => {
  const { call, organizationId } = await newOrganization()
  const key = await server.apiKey()
  const of = { size: 'small', apiKeyId: key.id } as const
  await use(organizationId, { hours: 1, ...of, labels: { task: 'a', team: 'x' } })
  await use(organizationId, { hours: 2, ...of, labels: { task: 'b' } })
  await use(organizationId, { hours: 4, size: 'small', labels: { task: 'a' } })
  await use(organizationId, { hours: 8, size: 'small' })

  const byKey = await sums(call, 'group_by=key')
  assert.deepEqual(
    byKey.map(({ actor, quantity, machine_id, labels }) => [actor, quantity, machine_id, labels]),
    [
      [{ type: 'api_key', id: key.id, name: 'A key' }, '10800', null, {}],
      [null, '43200', null, {}],
    ],
  )
  const byTask = await sums(call, 'group_by=label&label_key=task')
  assert.deepEqual(
    Object.fromEntries(byTask.map(({ labels, quantity }) => [labels.task ?? 'none', quantity])),
    { a: '18000', b: '7200', none: '28800' },
  )
  assert.ok(byTask.every(({ actor, machine_id }) => actor === null && machine_id === null))

  const quantities = async (query: string) =>
    (await sums(call, query)).map(({ quantity }) => quantity).toSorted()
  assert.deepEqual(await quantities('label_key=task&label_value=a'), ['14400', '3600'])
  assert.deepEqual(await quantities('label_key=team'), ['3600'])
  assert.deepEqual(await quantities(`api_key_id=${key.id}&label_key=task&label_value=a`), ['3600'])
  assert.deepEqual(await quantities('group_by=key&label_key=task'), ['10800', '14400'])
  assert.deepEqual(await quantities('group_by=label&label_key=task&label_value=b'), ['7200'])
})

test('a label without its key is refused with the field', async () => {
  for (const query of ['label_value=a', 'group_by=label']) {
    const { status, body } = await server.call('GET', `/v1/usage?${query}`)
    assert.equal(status, 400, query)
    assert.match(body.error.details[0].field, /^label_/)
  }
})

test('a name that a stranger has given to a key, or a machine, is not shown', async () => {
  const { call } = await newOrganization()
  const key = await server.apiKey()
  assert.deepEqual(await sums(call, `api_key_id=${key.id}`), [])
  assert.deepEqual(await sums(call, 'group_by=key'), [])
})

test('sums by label add up to the usage, whatever the labels are, over pages of any length', async () => {
  const value = fc.oneof(fc.constantFrom('a', 'b', ''), fc.string({ unit: 'binary', maxLength: 8 }))
  const safe = value.filter((text) => !text.includes('\0') && text.isWellFormed())
  const uses = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.option(safe)), {
    minLength: 1,
    maxLength: 6,
  })
  await fc.assert(
    fc.asyncProperty(uses, fc.integer({ min: 1, max: 3 }), async (list, limit) => {
      const { call, organizationId } = await newOrganization()
      const expected = new Map<string | undefined, number>()
      for (const [hours, task] of list) {
        const labels = task === null ? {} : { task }
        await use(organizationId, { hours, size: 'large', labels })
        const key = task ?? undefined
        expected.set(key, (expected.get(key) ?? 0) + hours * 3600)
      }
      const rows = await sums(call, 'group_by=label&label_key=task', limit)
      assert.deepEqual(
        new Map(rows.map(({ labels, quantity }) => [labels.task, Number(quantity)])),
        new Map([...expected].toSorted()),
      )
    }),
    { numRuns: 30 },
  )
})

// oxlint-disable-next-line typescript/no-explicit-any
async function sums(call: Call, query: string, limit = 25): Promise<any[]> {
  const rows = []
  let cursor = ''
  do {
    const path = `/v1/usage?start=${start}&${query}&limit=${limit}${cursor}`
    const { status, body } = await call('GET', path)
    assert.equal(status, 200, JSON.stringify(body))
    rows.push(...body.data)
    cursor = body.next_cursor && `&cursor=${body.next_cursor}`
  } while (cursor)
  return rows
}

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createBudget } from '../../server/src/domain/budgets/budgets.ts'
import { newId } from '../../server/src/ids.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const computer = server.connect()
const owner = await server.user('owner')
const machine = await computer.machines.create({ start: false })
const limit = { type: 'standard_hours', value: '2.5' } as const
const { id } = await createBudget(server.app, owner, newId('bud'), {
  name: 'nightly',
  limit,
  scope: { type: 'machine', machine_id: machine.id as `mch_${string}` },
  window: 'week',
  thresholds: [50],
  action: 'stop',
  minimum_run_seconds: 120,
})

test('budgets are listed and read with what is left of them', async () => {
  const [budget] = await computer.budgets.list({ machineId: machine.id }).all()
  assert.deepEqual(await computer.budgets.get(id), budget)
  assert.deepEqual(
    [budget!.scope, budget!.limit, budget!.remaining, budget!.minimumRunSeconds],
    [{ type: 'machine', machineId: machine.id }, limit, '2.500000', 120],
  )
  const other = await computer.machines.create({ start: false })
  assert.deepEqual(await computer.budgets.list({ machineId: other.id }).all(), [])
})

test('an API key cannot change a budget, so an agent cannot raise its own', async () => {
  const refused = { code: 'permission_denied' }
  const { budgets } = computer
  await assert.rejects(budgets.create({ name: 'mine', limit }), refused)
  await assert.rejects(budgets.update(id, { limit: { ...limit, value: '100' } }), refused)
  await assert.rejects(budgets.delete(id), refused)
  await assert.rejects(budgets.get('bud_01kaj0v3m8q4t2x6y9z1b5c7d3'), { code: 'not_found' })
})

test('a start beyond a budget fails with an error that names it', async () => {
  await server.app.db.updateTable('budgets').set({ limit_micros: '1' }).execute()
  await assert.rejects(machine.start(), (error: Error & { code?: string; quota?: unknown }) => {
    assert.deepEqual([error.code, error.quota], ['quota_exceeded', null])
    assert.match(error.message, /^budget "nightly" \(bud_\w+\) has no room for another start/)
    return true
  })
})

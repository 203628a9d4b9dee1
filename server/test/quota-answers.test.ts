import type { QuotaLimit } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Terms } from '../src/db/tables/billing.ts'
import { onDisksOf } from './disks.ts'
import { startTestServer, type Answer } from './harness.ts'
import { givePlan } from './plans.ts'

/* Every call that takes a place of a limit, with a limit that is used up, and with one that is not agreed. */

const server = await startTestServer({ after })
const { db, config } = server.app
const { call } = server
const owner = server.as(await server.user('owner'))
const disks = onDisksOf(server)

const running = await server.machine()
const stopped = await server.machine({ start: false })
const snapshot = await disks.snapshot(running.id)
const template = await call('POST', '/v1/templates', { name: 'One', snapshot_id: snapshot.id })
await disks.templateIn(template.body.id, 'ready')
await call('POST', '/v1/sessions', { machine_id: running.id })

const calls: readonly [QuotaLimit, string, () => Promise<Answer>][] = [
  ['running_machines', 'create', () => call('POST', '/v1/machines', {})],
  [
    'running_machines',
    'create from a template',
    () => call('POST', '/v1/machines', { template: template.body.id }),
  ],
  ['running_machines', 'start', () => call('POST', `/v1/machines/${stopped.id}/start`)],
  ['running_machines', 'fork', () => call('POST', `/v1/machines/${running.id}/fork`, {})],
  ['machines', 'create', () => call('POST', '/v1/machines', { start: false })],
  [
    'machines',
    'fork a snapshot',
    () => call('POST', `/v1/machines/${running.id}/fork`, { snapshot_id: snapshot.id }),
  ],
  [
    'templates',
    'template of a snapshot',
    () => call('POST', '/v1/templates', { name: 'Two', snapshot_id: snapshot.id }),
  ],
  [
    'templates',
    'template of a machine',
    () => call('POST', '/v1/templates', { name: 'Three', machine_id: running.id }),
  ],
  [
    'members',
    'invite',
    () => owner('POST', '/v1/invitations', { email: 'a@example.com', role: 'member' }),
  ],
  [
    'concurrent_sessions',
    'session',
    () => call('POST', '/v1/sessions', { machine_id: running.id }),
  ],
  [
    'snapshots_per_machine',
    'snapshot',
    () => call('POST', '/v1/snapshots', { machine_id: running.id }),
  ],
]

for (const [limit, action, run] of calls) {
  test(`${action}: a refusal names the limit ${limit}, its numbers, and where to change the plan`, async () => {
    const { body: account } = await call('GET', '/v1/billing')
    const { current } = account.limits.find(({ key }: { key: string }) => key === limit)
    const quota = { limit, upgrade_url: `${config.dashboardUrl}/billing` }
    await limitTo('startup', { [limit]: current })
    assertQuota(await run(), { ...quota, current, maximum: current, plan_id: 'startup' })

    const all = { running_machines: 50, machines: 50, templates: 50, members: 50 }
    const others: Terms = { ...all, concurrent_sessions: 50, snapshots_per_machine: 50 }
    delete others[limit]
    await limitTo('enterprise', { ...others, largest_size: 'large' })
    assertQuota(await run(), { ...quota, current: 0, maximum: null, plan_id: 'enterprise' })
  })
}

test('every limit has a call', () => {
  const limits = new Set(calls.map(([limit]) => limit))
  assert.equal(limits.size, 6)
})

async function limitTo(planId: string, terms: Terms): Promise<void> {
  await givePlan(db, { planId, terms })
}

function assertQuota({ status, body }: Answer, quota: object): void {
  assert.deepEqual([status, body.error?.code], [402, 'quota_exceeded'], JSON.stringify(body))
  assert.deepEqual(body.error.quota, quota)
}

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { tryProperty } from '../../../scripts/soak/properties.ts'
import type { Tx } from '../../src/db/database.ts'
import { closePeriods } from '../../src/domain/billing/closing.ts'
import { verifyPeriods } from '../../src/domain/billing/verification.ts'
import { collide } from '../forced-race.ts'
import { checkIntervals } from '../meter-checks.ts'
import { setStage } from './stage.ts'
import { steps } from './steps.ts'

const stage = await setStage({ after })
const { db, organizationId } = stage

test('final stays final, no interval is negative or overlaps, and the log gives what is billed, whatever the clocks do', async () => {
  await tryProperty(
    fc.asyncProperty(steps, steps, async (before, later) => {
      await stage.reset()
      for (const step of before) await stage.apply(step)
      await stage.finish()
      const finals = await stage.readFinals()
      assert.ok(finals.size > 0)
      for (const step of later) {
        await stage.apply(step)
        if (step.kind !== 'close') continue
        for (const [start, answer] of await stage.readFinals(finals)) finals.set(start, answer)
      }
      await stage.finish()
      const last = await stage.readFinals()
      for (const [start, answer] of finals) assert.equal(last.get(start), answer)
      await checkIntervals(db)
      assert.deepEqual((await verifyPeriods(db, organizationId)).differences, [])
    }),
    { share: 0.4 },
  )
})

test('a period that is closed as the clock is set back counts what is open to its end', async () => {
  await stage.reset()
  const start = { kind: 'move', machine: 0, choice: 0 } as const
  for (const step of [start, start, { kind: 'edge', ms: 1_000 }, { kind: 'roll' }] as const)
    await stage.apply(step)
  await stage.apply({ kind: 'wait', ms: 11 * 60_000 })
  const { ends_at: end } = await db
    .selectFrom('billing_periods')
    .select('ends_at')
    .where('status', '=', 'closing')
    .executeTakeFirstOrThrow()
  const holdAccounts = (tx: Tx) => sql`select from billing_accounts for update`.execute(tx)
  await collide(db, holdAccounts, [() => closePeriods(db)], () =>
    stage.clock.set(new Date(end.getTime() - 3_600_000)),
  )
  assert.equal((await stage.readFinals()).size, 1)
  assert.deepEqual(await verifyPeriods(db, organizationId), { periods: 1, differences: [] })
})

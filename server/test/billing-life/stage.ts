import { machineTransitions, type CaptureId, type MachineId } from '@computer/contract'
import { sql } from 'kysely'
import { findOpenPeriod, openAccount, rollPeriods } from '../../src/domain/accounts/periods.ts'
import { addCatalogVersion, readNewestCatalog } from '../../src/domain/billing/catalog-versions.ts'
import { closePeriods } from '../../src/domain/billing/closing.ts'
import { appendEvent } from '../../src/domain/events/events.ts'
import { moveMachine } from '../../src/domain/events/machine-states.ts'
import { setPlan } from '../../src/domain/operator/plans.ts'
import { addEgress, compactEgress } from '../../src/domain/previews/egress.ts'
import { ApiError } from '../../src/errors.ts'
import { newId } from '../../src/ids.ts'
import { startTestServer, type Lifetime } from '../harness.ts'
import { simulateClock } from '../simulated-clock.ts'
import type { Step } from './steps.ts'

/*
 * An organization with two machines, whose time the test sets. The steps call what the worker, the gateway,
 * the API and the operator call; there is no worker, so that nothing else happens.
 */

const begin = Date.UTC(2028, 0, 15, 9, 40, 12, 345)
const planIds = ['free', 'developer', 'pro', 'startup', 'enterprise']
const agreed = { running_machines: '9', machines: '9', snapshots_per_machine: '9', templates: '9' }
const negotiated = { ...agreed, members: '9', concurrent_sessions: '9', largest_size: 'large' }
const operator = { type: 'operator', id: 'operator', name: 'root' } as const

export type Stage = Awaited<ReturnType<typeof setStage>>

export async function setStage(t: Lifetime) {
  const clock = simulateClock(t, new Date(begin))
  const server = await startTestServer(t, { worker: false, prepare: clock.prepare })
  const { db } = server.app
  const { organization_id: organizationId } = await db
    .selectFrom('memberships')
    .select('organization_id')
    .executeTakeFirstOrThrow()
  const life = { now: begin, machines: [] as MachineId[], captures: [] as Capture[], flushes: 0 }

  async function reset(): Promise<void> {
    await sql.raw(forget).execute(db)
    await clock.skew(0)
    await clock.set(new Date(begin))
    Object.assign(life, { now: begin, captures: [], flushes: 0 })
    await db.transaction().execute((tx) => openAccount(tx, organizationId, 'developer'))
    life.machines = [newId('mch'), newId('mch')]
    await db
      .insertInto('machines')
      .values(life.machines.map((id, index) => machineRow(id, index)))
      .execute()
  }

  function machineRow(id: MachineId, index: number) {
    const of = { organization_id: organizationId, image_id: server.imageId }
    const place = { region: 'local', host: 'local' }
    const size = { size: 'small', cpu: 1, memory_mb: 2_048, disk_gb: 10 } as const
    const state = { state: 'stopped', wanted: 'stopped', metadata: '{}' as never } as const
    return {
      id,
      name: `machine-${index}`,
      os: 'linux' as const,
      uid_slot: index,
      ...of,
      ...place,
      ...size,
      ...state,
    }
  }

  async function apply(step: Step): Promise<void> {
    switch (step.kind) {
      case 'wait':
        life.now += step.ms
        return clock.set(new Date(life.now))
      case 'back':
        life.now -= step.ms
        return clock.set(new Date(life.now))
      case 'edge': {
        const { ends_at: end } = await findOpenPeriod(db, organizationId)
        life.now = end.getTime() + step.ms
        return clock.set(new Date(life.now))
      }
      case 'skew':
        return clock.skew(step.ms)
      case 'move':
        return move(step)
      case 'resize':
        await server.call('PATCH', `/v1/machines/${life.machines[step.machine]}`, {
          size: step.size,
        })
        return
      case 'capture':
        return capture(step)
      case 'release': {
        const held = life.captures.shift()
        if (!held) return
        const detail = { type: 'snapshot.deleted', capture: held } as const
        return db.transaction().execute((tx) => appendEvent(tx, held.machine_id, detail))
      }
      case 'flush': {
        const id = step.repeats === null ? (life.flushes += 1) : step.repeats % (life.flushes + 1)
        const machineId = life.machines[step.machine]!
        return addEgress(db, String(id), [{ machineId, organizationId, bytes: step.bytes }])
      }
      case 'compact':
        return compactEgress(db)
      case 'plan':
        return setPlanOf(step)
      case 'catalog':
        return addCatalog(step)
      case 'roll':
        return rollPeriods(db)
      case 'close':
        return closePeriods(db)
      case 'together':
        await Promise.all(step.steps.map(apply))
    }
  }

  async function move({ machine, choice }: Extract<Step, { kind: 'move' }>): Promise<void> {
    const id = life.machines[machine]!
    await db.transaction().execute(async (tx) => {
      const row = await tx
        .selectFrom('machines')
        .selectAll()
        .where('id', '=', id)
        .forUpdate()
        .executeTakeFirstOrThrow()
      const allowed = machineTransitions[row.state]
      // The first is the usual one.
      const to = allowed[choice < 4 ? 0 : choice % Math.max(allowed.length, 1)]
      if (to) await moveMachine(tx, row, to)
    })
  }

  async function capture({ machine, bytes }: Extract<Step, { kind: 'capture' }>): Promise<void> {
    const machineId = life.machines[machine]!
    const automatic = { captured_by_type: null, captured_by_id: null }
    const held = { ...automatic, id: newId('cap'), size_bytes: bytes, machine_id: machineId }
    const detail = { type: 'snapshot.completed', capture: held } as const
    await db.transaction().execute((tx) => appendEvent(tx, machineId, detail))
    life.captures.push(held)
  }

  async function setPlanOf(step: Extract<Step, { kind: 'plan' }>): Promise<void> {
    const planId = planIds[step.plan]!
    const hours = step.hours === null ? {} : { included_standard_hours: String(step.hours) }
    const limits = planId === 'enterprise' ? { ...negotiated, ...hours } : { ...agreed, ...hours }
    const change = { planId, limits, immediate: step.immediate }
    // The version in effect may have dropped the plan.
    await ignoreRefusal(setPlan(server.app, operator, organizationId, change))
  }

  async function addCatalog(step: Extract<Step, { kind: 'catalog' }>): Promise<void> {
    const { plans, prices, ...rest } = await readNewestCatalog(db)
    const file = {
      ...rest,
      plans: plans.filter((_, index) => plans.length < 3 || index !== step.drops),
      prices: prices.map((price) => ({ ...price, cents: step.cents })),
    }
    // A version that is to take effect later may be there already.
    await ignoreRefusal(addCatalogVersion(server.app, file, new Date(life.now + step.delayMs)))
  }

  /** The answers of the API for final periods, by the start of each, byte for byte. */
  async function readFinals(but: ReadonlyMap<string, string> = new Map()) {
    const periods = await db
      .selectFrom('billing_periods')
      .select('starts_at')
      .where('organization_id', '=', organizationId)
      .where('status', '=', 'final')
      .orderBy('starts_at')
      .execute()
    const answers = new Map<string, string>()
    for (const { starts_at: start } of periods) {
      if (but.has(start.toISOString())) continue
      const path = `/v1/billing/usage-summary?period=${start.toISOString()}`
      const { status, bytes } = await server.call('GET', path)
      if (status !== 200) throw new Error(bytes.toString())
      answers.set(start.toISOString(), bytes.toString())
    }
    return answers
  }

  /** Lets all clocks be right again, and every period but the last be final. */
  async function finish(): Promise<void> {
    await clock.skew(0)
    await apply({ kind: 'edge', ms: 1_000 })
    await rollPeriods(db)
    await clock.set(new Date((life.now += 11 * 60_000)))
    await closePeriods(db)
  }

  return { server, db, clock, organizationId, reset, apply, readFinals, finish }
}

type Capture = {
  readonly id: CaptureId
  readonly machine_id: MachineId
  readonly size_bytes: number
  readonly captured_by_type: null
  readonly captured_by_id: null
}

/** Deletes what a life leaves, at once. */
const forget = `do $$ begin
  delete from meter_intervals;
  delete from machine_events;
  delete from egress_counts;
  delete from machines;
  delete from billing_lines;
  delete from billing_periods;
  delete from organization_terms;
  delete from billing_accounts;
  delete from audit_events;
  delete from catalog_prices where catalog_version > 1;
  delete from catalog_plans where catalog_version > 1;
  delete from catalog_sizes where catalog_version > 1;
  delete from catalog_versions where version > 1;
end $$`

async function ignoreRefusal(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.code === 'internal_error') throw error
  })
}

import type { Database, HostRow, Tx } from '../../db/database.ts'
import { ApiError, notFound } from '../../errors.ts'
import { hostSilent } from './health.ts'
import { readHostState } from './hosts.ts'

/* Whether a host gets machines, as an operator decides. */

/** From now on the host gets no new machines, and its machines go to others (machines/draining.ts). */
export async function drainHost(db: Database, name: string): Promise<HostRow> {
  return change(db, name, async (tx, host) => {
    if (host.state === 'draining' || host.state === 'drained') return host
    requireState(host, 'ready')
    await requireAnotherReady(tx, name)
    return setState(tx, name, 'draining')
  })
}

/** The host gets machines again. Those that have left stay where they are. */
export async function undrainHost(db: Database, name: string): Promise<HostRow> {
  return change(db, name, async (tx, host) => {
    if (host.state === 'ready') return host
    if (host.state !== 'drained') requireState(host, 'draining')
    return setState(tx, name, 'ready')
  })
}

/** Takes a host that is drained or lost out of the server, with the copies of captures that other hosts have as well. */
export async function removeHost(db: Database, name: string): Promise<HostRow> {
  return change(db, name, async (tx, host) => {
    if (host.state === 'removed') return host
    if (host.state !== 'lost') requireState(host, 'drained')
    await tx.deleteFrom('capture_copies').where('host', '=', name).execute()
    return setState(tx, name, 'removed')
  })
}

/** Gives up a host that does not answer, for ever. Repeating it is no error. */
export async function markLost(db: Database, name: string): Promise<HostRow> {
  return change(db, name, async (tx, host) => {
    if (host.state === 'lost') return host
    if (host.state === 'removed') requireState(host, 'ready')
    if (host.unhealthy_reason !== hostSilent) {
      const message = `host ${name} answers: drain it instead, and then remove it`
      throw new ApiError('precondition_failed', message)
    }
    await requireAnotherReady(tx, name)
    return setState(tx, name, 'lost')
  })
}

/** Why this host may not run a worker; null if it may. */
export async function findRefusal(db: Database, name: string): Promise<string | null> {
  const state = await readHostState(db, name)
  if (state !== 'removed' && state !== 'lost') return null
  return `host ${name} was ${state === 'lost' ? 'given up as lost' : 'removed'}: empty its data folder and let it join again under another name`
}

async function change(
  db: Database,
  name: string,
  act: (tx: Tx, host: HostRow) => Promise<HostRow>,
): Promise<HostRow> {
  return db.transaction().execute(async (tx) => {
    const host = await tx
      .selectFrom('hosts')
      .selectAll()
      .where('name', '=', name)
      .forUpdate()
      .executeTakeFirst()
    if (!host) throw notFound(`host ${name}`)
    return act(tx, host)
  })
}

async function setState(tx: Tx, name: string, state: HostRow['state']): Promise<HostRow> {
  return tx
    .updateTable('hosts')
    .set({ state })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function requireState({ name, state }: HostRow, expected: HostRow['state']): void {
  if (state === expected) return
  throw new ApiError('precondition_failed', `host ${name} is ${state}; it must be ${expected}`)
}

async function requireAnotherReady(tx: Tx, name: string): Promise<void> {
  const other = await tx
    .selectFrom('hosts')
    .select('name')
    .where('name', '!=', name)
    .where('state', '=', 'ready')
    .where('unhealthy_reason', 'is', null)
    .limit(1)
    .executeTakeFirst()
  if (other) return
  throw new ApiError('precondition_failed', `no other host can take the machines of host ${name}`)
}

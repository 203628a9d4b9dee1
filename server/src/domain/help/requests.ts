import {
  maxOpenHelpRequests,
  privateReasons,
  type CreateHelpRequest,
  type HelpRequestId,
  type HelpState,
  type MachineId,
  type UserId,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, HelpRow, Tx } from '../../db/database.ts'
import { conflict, invalid, notFound } from '../../errors.ts'
import { inMs } from '../claims.ts'
import { lockMachine } from '../find-machine.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { createLink } from './links.ts'
import { mailRequest, noteHelp } from './notices.ts'
import { findMember } from './people.ts'

/*
 * Help requests (docs/decisions/0039). What locks a request and something else locks the request first, then the
 * organization, the lease and the machine.
 */

type Requested = { readonly help: HelpRow; readonly takeoverUrl: string }

/** Called again with the id of an interrupted call, it makes a new link: nobody has received the first. */
export async function createHelpRequest(
  app: Pick<App, 'db' | 'changes' | 'config'>,
  actor: Actor,
  id: HelpRequestId,
  machineId: MachineId,
  input: CreateHelpRequest,
): Promise<Requested> {
  const requested = await app.db.transaction().execute(async (tx) => {
    const existing = await selectHelp(tx, actor).where('id', '=', id).executeTakeFirst()
    if (existing) return { help: existing, takeoverUrl: await createLink(app.config, tx, id) }
    const machine = await lockMachine(tx, actor, machineId)
    await requireFew(tx, machineId)
    const assignee = input.assignee && (await getMember(tx, actor, input.assignee))
    const help = await tx
      .insertInto('help_requests')
      .values({
        id,
        organization_id: actor.organizationId,
        machine_id: machineId,
        reason: input.reason,
        message: input.message,
        choices: input.choices === undefined ? null : [...input.choices],
        private: input.private ?? privateReasons.includes(input.reason),
        assignee_id: assignee ? assignee.id : null,
        assignee_name: assignee ? assignee.name : null,
        requested_by_type: actor.principal.type,
        requested_by_id: actor.principal.id,
        requested_by_name: actor.principal.name,
        expires_at: inMs((input.expires_in_seconds ?? 3600) * 1000),
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await noteHelp(tx, help, 'help.requested', actor.principal)
    await mailRequest(tx, app.config, help, machine.name, assignee ? assignee.id : actor.userId)
    return { help, takeoverUrl: await createLink(app.config, tx, id) }
  })
  publishHelp(app, requested.help)
  return requested
}

export async function listHelpRequests(
  db: Database,
  actor: Actor,
  filter: PageRequest & {
    readonly machine_id?: MachineId | undefined
    readonly state?: HelpState | readonly HelpState[] | undefined
  },
) {
  const states = filter.state === undefined ? null : [filter.state].flat()
  const rows = selectHelp(db, actor)
    .$if(filter.machine_id !== undefined, (query) =>
      query.where('machine_id', '=', filter.machine_id!),
    )
    .$if(states !== null, (query) => query.where('state', 'in', states!))
  return newestFirst('hlp', filter, rows)
}

export async function getHelp(db: Database, actor: Actor, id: HelpRequestId): Promise<HelpRow> {
  const help = await selectHelp(db, actor).where('id', '=', id).executeTakeFirst()
  if (!help) throw notFound(`help request ${id}`)
  return help
}

/** Reads a request that has not ended, and keeps it as it is until the transaction ends. */
export async function lockHelp(tx: Tx, actor: Actor, id: HelpRequestId): Promise<HelpRow> {
  const help = await selectHelp(tx, actor)
    .select(sql<boolean>`expires_at <= clock_timestamp()`.as('is_over'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!help) throw notFound(`help request ${id}`)
  if (!isWaiting(help)) throw conflict(`help request ${id} has ended: it is ${help.state}`)
  if (help.is_over) throw conflict(`help request ${id} has expired`)
  return help
}

export function isWaiting({ state }: Pick<HelpRow, 'state'>): boolean {
  return state === 'open' || state === 'active'
}

/** Tells every process, after the commit, that a request changed and that its activity can be placed. */
export function publishHelp(app: Pick<App, 'changes'>, help: HelpRow): void {
  app.changes.publish(help.machine_id)
  app.changes.publish(help.organization_id, 'unplaced')
}

/** The picture of the screen from before or after somebody had it, as WebP. */
export async function getPicture(
  db: Database,
  actor: Actor,
  id: HelpRequestId,
  moment: 'before' | 'after',
): Promise<Buffer> {
  await getHelp(db, actor, id)
  const picture = await db
    .selectFrom('help_pictures')
    .select('image')
    .where('help_request_id', '=', id)
    .where('moment', '=', moment)
    .executeTakeFirst()
  if (!picture) throw notFound(`picture from ${moment} help request ${id}`)
  return picture.image
}

function selectHelp(db: Database, actor: Actor) {
  return db
    .selectFrom('help_requests')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
}

/** The machine is locked, so no other call adds one meanwhile. */
async function requireFew(tx: Tx, machineId: MachineId): Promise<void> {
  const waiting = await tx
    .selectFrom('help_requests')
    .select('id')
    .where('machine_id', '=', machineId)
    .where('state', 'in', ['open', 'active'])
    .limit(maxOpenHelpRequests)
    .execute()
  if (waiting.length < maxOpenHelpRequests) return
  throw conflict(
    `${maxOpenHelpRequests} help requests of this machine are waiting; cancel one first`,
  )
}

async function getMember(tx: Tx, actor: Actor, id: UserId) {
  const member = await findMember(tx, actor.organizationId, id)
  if (member) return member
  const message = 'must be a member of the organization'
  throw invalid(`body: assignee: ${message}`, [{ field: 'assignee', message }])
}

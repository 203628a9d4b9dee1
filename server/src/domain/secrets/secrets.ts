import {
  maxSecretBytesPerMachine,
  maxSecretsPerMachine,
  type MachineId,
  type PutSecret,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Config } from '../../config.ts'
import type { Database, MachineRow, SecretRow, Tx } from '../../db/database.ts'
import { ApiError, conflict, notFound } from '../../errors.ts'
import { readKeyring } from './keyring-file.ts'
import { seal, sealedBytes, type Keyring } from './keyring.ts'
import { auditedBy, noteAudit } from '../accounts/audit-events.ts'
import { getMachine, lockMachine } from '../find-machine.ts'
import { pageByKey, type Page, type PageRequest } from '../page.ts'
import { contextOf, raiseRevision } from './sets.ts'

/** Without a keyring there are no secrets. */
export async function requireKeyring(config: Pick<Config, 'keyringPath'>): Promise<Keyring> {
  const keyring = await readKeyring(config.keyringPath)
  if (keyring) return keyring
  const message = 'this service keeps no secrets: its operator has to give it a keyring'
  throw new ApiError('unsupported_operation', message)
}

/** Whether any machine of the server has a secret. */
export async function hasSecrets(db: Database): Promise<boolean> {
  const secret = await db.selectFrom('machine_secrets').select('name').limit(1).executeTakeFirst()
  return secret !== undefined
}

type Listed = Pick<SecretRow, 'machine_id' | 'name' | 'version' | 'delivered_at'>

/** By name: those of one machine, or of all machines of the organization. */
export async function listSecrets(
  db: Database,
  actor: Actor,
  filter: PageRequest & { readonly machineId?: MachineId },
): Promise<Page<Listed>> {
  const { machineId } = filter
  if (machineId) await getMachine(db, actor, machineId)
  const fetch = (after: string | null, count: number): Promise<Listed[]> =>
    db
      .selectFrom('machine_secrets')
      .select(['machine_id', 'name', 'version', 'delivered_at'])
      .where('organization_id', '=', actor.organizationId)
      .$if(machineId !== undefined, (query) => query.where('machine_id', '=', machineId!))
      .$if(after !== null, (query) => query.where(isAfter(after!)))
      .orderBy('name')
      .orderBy('machine_id')
      .limit(count)
      .execute()
  const positionOf = (row: Listed) => `${row.name} ${row.machine_id}`
  return pageByKey(filter, /^[A-Z_][A-Z0-9_]* mch_[0-9a-z]{20,32}$/, positionOf, fetch)
}

/** Stores the next version of a secret, and has it delivered if the machine runs. */
export async function putSecret(
  app: Pick<App, 'db' | 'changes' | 'config'>,
  actor: Actor,
  id: MachineId,
  { name, value }: PutSecret,
): Promise<SecretRow> {
  const keyring = await requireKeyring(app.config)
  const secret = await app.db.transaction().execute(async (tx) => {
    const machine = await lockMachine(tx, actor, id)
    if (machine.state === 'deleting') throw conflict(`machine ${id} is being deleted`)
    const before = await requireRoom(tx, id, name, value)
    const row = {
      machine_id: id,
      name,
      organization_id: actor.organizationId,
      version: (before?.version ?? 0) + 1,
      revision: await raiseRevision(tx, id),
      delivered_at: null,
    }
    const sealed = seal(keyring, Buffer.from(value), contextOf(row))
    await noteChange(tx, actor, machine, 'secret.stored', name)
    return tx
      .insertInto('machine_secrets')
      .values({ ...row, sealed })
      .onConflict((conflicting) =>
        conflicting.columns(['machine_id', 'name']).doUpdateSet({ ...row, sealed }),
      )
      .returningAll()
      .executeTakeFirstOrThrow()
  })
  app.changes.publish(id)
  return secret
}

/** Takes it from the database now, and from the machine if that runs. */
export async function deleteSecret(
  app: Pick<App, 'db' | 'changes' | 'config'>,
  actor: Actor,
  id: MachineId,
  name: string,
): Promise<void> {
  await requireKeyring(app.config)
  await app.db.transaction().execute(async (tx) => {
    const machine = await lockMachine(tx, actor, id)
    await raiseRevision(tx, id)
    const { numDeletedRows } = await tx
      .deleteFrom('machine_secrets')
      .where('machine_id', '=', id)
      .where('name', '=', name)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw notFound(`secret ${name} of machine ${id}`)
    await noteChange(tx, actor, machine, 'secret.deleted', name)
  })
  app.changes.publish(id)
}

/** Refuses more than every program of the machine could be started with. */
async function requireRoom(tx: Tx, id: MachineId, name: string, value: string) {
  const before = await tx
    .selectFrom('machine_secrets')
    .select(['name', 'version', sql<number>`octet_length(sealed)`.as('bytes')])
    .where('machine_id', '=', id)
    .execute()
  const others = before.filter((row) => row.name !== name)
  if (others.length >= maxSecretsPerMachine) {
    throw conflict(`the machine has ${maxSecretsPerMachine} secrets, as many as it can: delete one`)
  }
  const usedBytes = others.reduce((sum, row) => sum + row.name.length + row.bytes - sealedBytes, 0)
  if (usedBytes + name.length + Buffer.byteLength(value) > maxSecretBytesPerMachine) {
    throw conflict('the secrets of a machine have at most 1 MiB together: delete one')
  }
  return before.find((row) => row.name === name)
}

async function noteChange(
  tx: Tx,
  actor: Actor,
  machine: MachineRow,
  type: 'secret.stored' | 'secret.deleted',
  name: string,
): Promise<void> {
  const target = { type: 'machine', id: machine.id, name: machine.name } as const
  await noteAudit(tx, { ...auditedBy(actor), type, target, message: name })
}

function isAfter(position: string) {
  const [name, machineId] = position.split(' ')
  return sql<boolean>`(name, machine_id) > (${name}, ${machineId})`
}

import type { ImageId } from '@computer/contract'
import { sql } from 'kysely'
import { isIPv4 } from 'node:net'
import type { App } from '../../app.ts'
import type { Config } from '../../config.ts'
import type { Database, HostRow, Tx } from '../../db/database.ts'
import { inMs } from '../claims.ts'
import type { KnownHost } from '../../peers/hosts.ts'
import type { PeerAddress } from '../../peers/peer.ts'
import { hostSilent } from './health.ts'

/*
 * The hosts that run machines. The worker of a host keeps its row: what it measures there, and that it lives.
 */

/**
 * Writes the row of this host when its worker starts. `peer` is null if processes of other hosts cannot reach it.
 * Returns whether the host was restarted since the row was written before.
 */
export async function recordHost(
  tx: Tx,
  { host: name, region }: Pick<Config, 'host' | 'region'>,
  { bootId, peer }: { readonly bootId: string | null; readonly peer: PeerAddress | null },
): Promise<boolean> {
  const before = await tx
    .selectFrom('hosts')
    .select('boot_id')
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst()
  const row = {
    region,
    boot_id: bootId,
    seen_at: sql<Date>`clock_timestamp()`,
    peer_address: peer?.address ?? null,
    peer_port: peer?.port ?? null,
    peer_certificate: peer?.certificate ?? null,
  }
  await tx
    .insertInto('hosts')
    .values({ name, ...row })
    .onConflict((known) => known.column('name').doUpdateSet(row))
    .execute()
  const bootIdBefore = before?.boot_id ?? null
  return bootIdBefore !== null && bootId !== null && bootId !== bootIdBefore
}

/** A sign of life of this host's worker. */
export async function recordSeen(app: Pick<App, 'db' | 'config'>): Promise<void> {
  await app.db
    .updateTable('hosts')
    .set({ seen_at: sql`clock_timestamp()` })
    .where('name', '=', app.config.host)
    .execute()
}

/** The image is unpacked on this host. */
export async function recordImage(app: Pick<App, 'db' | 'config'>, id: ImageId): Promise<void> {
  await app.db
    .updateTable('hosts')
    .set({ images: sql`array_append(images, ${id})` })
    .where('name', '=', app.config.host)
    .where(sql<boolean>`${id} <> all(images)`)
    .execute()
}

/** A host as the processes of others know it. */
export async function findKnownHost(db: Database, name: string): Promise<KnownHost | null> {
  const host = await db
    .selectFrom('hosts')
    .select([
      'peer_address as address',
      'peer_port as port',
      'peer_certificate as certificate',
      'unhealthy_reason',
    ])
    .where('name', '=', name)
    .executeTakeFirst()
  if (!host) return null
  const { address, port, certificate, unhealthy_reason: reason } = host
  const isListening = address !== null && port !== null && certificate !== null
  return {
    peer: isListening ? { address, port, certificate } : null,
    answers: reason !== hostSilent,
  }
}

/** Whether a host that this process is not on can run machines of the image. */
export async function isAnyOtherReady(
  { db, config }: Pick<App, 'db' | 'config'>,
  image: ImageId,
): Promise<boolean> {
  const host = await db
    .selectFrom('hosts')
    .select('name')
    .where('name', '!=', config.host)
    .where('state', '=', 'ready')
    .where('unhealthy_reason', 'is', null)
    .where(sql<boolean>`${image} = any(images)`)
    .limit(1)
    .executeTakeFirst()
  return host !== undefined
}

/** Whether the server has had a host beside this one. */
export async function hasOtherHost(db: Database, { host }: Pick<Config, 'host'>): Promise<boolean> {
  const other = await db
    .selectFrom('hosts')
    .select('name')
    .where('name', '!=', host)
    .where('seen_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

export async function listHosts(db: Database): Promise<HostRow[]> {
  return db.selectFrom('hosts').selectAll().orderBy('name').execute()
}

/** The IPv4 addresses at which the workers of other hosts listen, in a fixed order. */
export async function listOtherAddresses({
  db,
  config,
}: Pick<App, 'db' | 'config'>): Promise<string[]> {
  const rows = await db
    .selectFrom('hosts')
    .select('peer_address')
    .where('name', '!=', config.host)
    .where('state', 'not in', ['removed', 'lost'])
    .orderBy('name')
    .execute()
  return rows.flatMap(({ peer_address: address }) =>
    address !== null && isIPv4(address) ? [address] : [],
  )
}

/** Another host that is healthy and has the image. */
export async function findHostWith(
  { db, config }: { readonly db: Database; readonly config: Pick<Config, 'host'> },
  image: ImageId,
): Promise<string | undefined> {
  const host = await db
    .selectFrom('hosts')
    .select('name')
    .where('name', '!=', config.host)
    .where('unhealthy_reason', 'is', null)
    .where('peer_address', 'is not', null)
    .where(sql<boolean>`${image} = any(images)`)
    .limit(1)
    .executeTakeFirst()
  return host?.name
}

/** The state that an operator decides; undefined for a host that has no row yet. */
export async function readHostState(
  db: Database,
  name: string,
): Promise<HostRow['state'] | undefined> {
  const host = await db
    .selectFrom('hosts')
    .select('state')
    .where('name', '=', name)
    .executeTakeFirst()
  return host?.state
}

/** The hosts whose workers have given no sign of life for that long. */
export async function listSilentHosts(db: Database, ms: number): Promise<string[]> {
  const rows = await db
    .selectFrom('hosts')
    .select('name')
    .where('state', 'not in', ['removed', 'lost'])
    .where('seen_at', '<', inMs(-ms))
    .execute()
  return rows.map(({ name }) => name)
}

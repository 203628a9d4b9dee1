import type { MachineId } from '@computer/contract'
import type { HostRow } from '../src/db/database.ts'
import { listHosts } from '../src/domain/hosts/hosts.ts'
import type { TestServer } from './harness.ts'
import { eventually } from './settled.ts'

/* Servers with several hosts. */

/** Resolves when two hosts can run machines. */
export async function bothReady({ app }: TestServer): Promise<void> {
  await eventually(async () => {
    const hosts = await listHosts(app.db)
    const isReady = ({ images, unhealthy_reason: reason }: (typeof hosts)[number]) =>
      images.length > 0 && reason === null
    return (hosts.length === 2 && hosts.every(isReady)) || undefined
  })
}

export async function setHost(
  { app }: TestServer,
  name: string,
  values: Partial<HostRow>,
): Promise<void> {
  await app.db.updateTable('hosts').set(values).where('name', '=', name).execute()
}

export async function hostOf({ app }: TestServer, id: string): Promise<string> {
  const row = await app.db
    .selectFrom('machines')
    .select('host')
    .where('id', '=', id as MachineId)
    .executeTakeFirstOrThrow()
  return row.host
}

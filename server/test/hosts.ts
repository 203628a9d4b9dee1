import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
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

/** Calls while the other hosts get no machines; those that they have stay there. */
export async function onlyOn<T>(
  { app }: TestServer,
  host: string,
  work: () => Promise<T>,
): Promise<T> {
  const drained = { state: 'drained' } as const
  await app.db.updateTable('hosts').set(drained).where('name', '!=', host).execute()
  try {
    return await work()
  } finally {
    await app.db.updateTable('hosts').set({ state: 'ready' }).execute()
  }
}

/** Creates a machine on a host of the test's choice, and moves none. */
export async function createOn(server: TestServer, host: string): Promise<MachineId> {
  const { id } = await onlyOn(server, host, () => server.machine())
  assert.equal(await hostOf(server, id), host)
  return id
}

/** The output of a command in a machine, which must succeed. */
export async function runIn(
  { call }: Pick<TestServer, 'call'>,
  id: string,
  command: string,
): Promise<string> {
  const { body } = await call('POST', `/v1/machines/${id}/exec`, { command: ['sh', '-c', command] })
  assert.equal(body.exit_code, 0, JSON.stringify(body))
  return body.stdout
}

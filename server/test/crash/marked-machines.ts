import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { onDisksOf } from '../disks.ts'
import type { TestServer } from '../harness.ts'
import { untilRest } from './clean-slate.ts'

/** A running machine whose disk bears the mark "first". */
export async function markedMachine(server: TestServer): Promise<MachineId> {
  const { id } = await server.machine()
  await untilRest(server.app)
  await onDisksOf(server).mark(id, 'first')
  return id
}

/** What a snapshot holds: the mark that a machine made from it has. */
export async function markOfFork(server: TestServer, id: string, snapshotId: string) {
  const wish = { snapshot_id: snapshotId }
  const { status, body } = await server.call('POST', `/v1/machines/${id}/fork`, wish)
  assert.equal(status, 201, JSON.stringify(body))
  await untilRest(server.app)
  return onDisksOf(server).readMark(body.id)
}

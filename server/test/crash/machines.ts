import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { onDisksOf } from '../disks.ts'
import type { TestServer } from '../harness.ts'
import { untilRest } from './clean-slate.ts'

/** A running machine whose disk bears the mark "first". */
export async function runningMachine(server: TestServer): Promise<MachineId> {
  const { id } = await server.machine()
  await untilRest(server.app)
  await onDisksOf(server).mark(id, 'first')
  return id
}

export async function stoppedMachine(server: TestServer): Promise<MachineId> {
  const id = await runningMachine(server)
  await onDisksOf(server).move(id, 'stop')
  return id
}

/** Fails unless the machine has its disk and its state, and went through no additional runs. */
export async function expectMachine(
  server: TestServer,
  id: MachineId,
  state: 'running' | 'stopped',
  times: { readonly started: number; readonly stopped: number },
): Promise<void> {
  const disks = onDisksOf(server)
  const { started, stopped } = times
  assert.equal((await server.call('GET', `/v1/machines/${id}`)).body.state, state)
  assert.equal((await disks.events(id, /^machine.started$/)).length, started)
  assert.equal((await disks.events(id, /^machine.ready$/)).length, started)
  assert.equal((await disks.events(id, /^machine.stopped$/)).length, stopped)
  if (state === 'stopped') await disks.move(id, 'start')
  assert.equal(await disks.readMark(id), 'first')
  await untilRest(server.app)
}

/** The mark that a snapshot holds, read in a machine made from it. */
export async function readMarkOf(server: TestServer, id: MachineId, snapshotId: string) {
  const input = { snapshot_id: snapshotId }
  const { status, body } = await server.call('POST', `/v1/machines/${id}/fork`, input)
  assert.equal(status, 201, JSON.stringify(body))
  await untilRest(server.app)
  return onDisksOf(server).readMark(body.id)
}

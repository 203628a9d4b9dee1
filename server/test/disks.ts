import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Tx } from '../src/db/database.ts'
import type { Answer, TestServer } from './harness.ts'
import { eventually } from './settled.ts'

/** Calls and queries of tests about disks: their content, and the snapshots and machines made of them. */
export function onDisksOf(server: TestServer) {
  const { call } = server
  const { db, driver } = server.app

  async function inState(path: string, state: string): Promise<Answer['body']> {
    return eventually(async () => {
      const { body } = await call('GET', path)
      return body.state === state ? body : undefined
    })
  }

  /** Seen from inside the running machine. */
  async function diskOf(id: string) {
    const { generation } = await disks.row(id)
    return server.engine.controls.guest({ id: id as MachineId, generation }).disk
  }

  const disks = {
    /** Writes a mark into a running machine's home. */
    async mark(id: string, content: string): Promise<void> {
      ;(await diskOf(id)).write('mark', content)
    },
    /** The mark in a running machine's home, or null. */
    async readMark(id: string): Promise<string | null> {
      return (await diskOf(id)).read('mark')?.toString() ?? null
    },
    /** Requests a snapshot and waits until it is ready. */
    async snapshot(machineId: string, name?: string): Promise<Answer['body']> {
      const input = { machine_id: machineId, ...(name !== undefined && { name }) }
      const { status, body } = await call('POST', '/v1/snapshots', input)
      assert.equal(status, 202, JSON.stringify(body))
      return inState(`/v1/snapshots/${body.id}`, 'ready')
    },
    snapshotIn: (id: string, state: string) => inState(`/v1/snapshots/${id}`, state),
    templateIn: (id: string, state: string) => inState(`/v1/templates/${id}`, state),
    machineIn: (id: string, state: string) => inState(`/v1/machines/${id}`, state),
    async goneFrom(path: string): Promise<void> {
      await eventually(async () => (await call('GET', path)).status === 404 || undefined)
    },
    /** The snapshots of a machine, newest first. */
    async snapshotsOf(machineId: string, filter = ''): Promise<Answer['body'][]> {
      const { body } = await call('GET', `/v1/snapshots?machine_id=${machineId}${filter}`)
      return body.data
    },
    async move(id: string, verb: 'start' | 'stop' | 'restart'): Promise<void> {
      const { status, body } = await call('POST', `/v1/machines/${id}/${verb}?wait=20`)
      assert.deepEqual([status, body.state], [202, verb === 'stop' ? 'stopped' : 'running'])
    },
    /** Waits until every capture is complete or gone. Returns their number. */
    async settledCaptures(): Promise<number> {
      return eventually(async () => {
        const rows = await db.selectFrom('captures').select('state').execute()
        const isSettled = rows.every(({ state }) => state === 'ready' || state === 'error')
        const made = rows.filter(({ state }) => state === 'ready').length
        const inEngine = (await driver.listCaptures()).length
        return isSettled && made === inEngine ? made : undefined
      })
    },
    /** Types of a machine's events, or their messages, oldest first. */
    async events(id: string, type: RegExp, show: 'type' | 'message' = 'type'): Promise<string[]> {
      const rows = await db
        .selectFrom('machine_events')
        .select(['type', 'message'])
        .where('machine_id', '=', id as MachineId)
        .orderBy('sequence')
        .execute()
      return rows.filter((row) => type.test(row.type)).map((row) => row[show] ?? '')
    },
    row: (id: string) =>
      db
        .selectFrom('machines')
        .selectAll()
        .where('id', '=', id as MachineId)
        .executeTakeFirstOrThrow(),
    /** A machine that is marked "after", and a snapshot of when it was marked "before". */
    async changedMachine() {
      const { id } = await server.machine()
      await disks.mark(id, 'before')
      const snapshot = await disks.snapshot(id, 'first')
      await disks.mark(id, 'after')
      return { id, snapshot }
    },
    restore: (id: string, snapshotId: string, query = '') =>
      call('POST', `/v1/machines/${id}/restore${query}`, { snapshot_id: snapshotId }),
    async beforeRestore(id: string): Promise<Answer['body']> {
      const snapshots = await disks.snapshotsOf(id)
      return snapshots.find(({ name }) => name === 'Before restore')
    },
    /** The disks that the engine has of a machine. */
    async generationsOf(id: string): Promise<number[]> {
      const instances = await driver.list()
      return instances.filter((one) => one.ref.id === id).map((one) => one.ref.generation)
    },
  }
  return disks
}

/** Locks a machine, as calls that change it do, for `collide`. */
export const holdMachine = (id: string) => (tx: Tx) =>
  sql`select from machines where id = ${id} for no key update`.execute(tx)

/** The same for its captures. */
export const holdCapturesOf = (id: string) => (tx: Tx) =>
  sql`select from captures where machine_id = ${id} for update`.execute(tx)

export function assertRefused(answer: Answer, code: string, message: RegExp): void {
  assert.equal(answer.body.error?.code, code, JSON.stringify(answer.body))
  assert.match(answer.body.error.message, message)
}

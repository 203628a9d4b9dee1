import type { machines } from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import type { MachineRow } from '../db/database.ts'
import { getMachine } from '../domain/find-machine.ts'
import { readUsage } from '../domain/guests/exec.ts'
import { forkMachine } from '../domain/machines/forks.ts'
import { createMachine } from '../domain/machines/creation.ts'
import { waitForRest } from '../domain/machines/wait.ts'
import {
  deleteMachine,
  listMachines,
  restartMachine,
  startMachine,
  stopMachine,
  updateMachine,
} from '../domain/machines/machines.ts'
import { restoreMachine } from '../domain/disks/restores.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

/** How long creation delays its response. The work itself is not limited by it. */
const createWaitMs = 120_000

export function machineRoutes(app: App): Routes<typeof machines> {
  return {
    create: async (actor, { body, newId }) => {
      const { id, requested_id: requested } = await createMachine(app, actor, newId('mch'), body)
      if (body.start) app.metrics.warm.countCreate(requested !== null)
      return rowToWire(await waitForRest(app, actor, id, createWaitMs))
    },
    list: async (actor, { query }) =>
      pageToWire(await listMachines(app.db, actor, query), rowToWire),
    get: async (actor, { params }) => rowToWire(await getMachine(app.db, actor, params.machine_id)),
    update: async (actor, { params, body }) =>
      rowToWire(await updateMachine(app, actor, params.machine_id, body)),
    start: async (actor, { params, query }) => {
      const machine = await startMachine(app, actor, params.machine_id)
      return rowToWire(await settle(actor, machine, query.wait))
    },
    stop: async (actor, { params, query, body }) => {
      const machine = await stopMachine(app, actor, params.machine_id, body)
      return rowToWire(await settle(actor, machine, query.wait))
    },
    restart: async (actor, { params, query }) => {
      const machine = await restartMachine(app, actor, params.machine_id)
      return rowToWire(await settle(actor, machine, query.wait))
    },
    delete: async (actor, { params, query }) => {
      const options = { withSnapshots: query.snapshots === 'delete' }
      return rowToWire(await deleteMachine(app, actor, params.machine_id, options))
    },
    fork: async (actor, { params, body, newId }) =>
      rowToWire(await forkMachine(app, actor, params.machine_id, newId('mch'), body)),
    restore: async (actor, { params, query, body, newId }) => {
      const restore = { keptId: newId('snp'), snapshotId: body.snapshot_id }
      const machine = await restoreMachine(app, actor, params.machine_id, restore)
      return rowToWire(await settle(actor, machine, query.wait))
    },
    usage: (actor, { params }) => readUsage(app, actor, params.machine_id),
  }

  /** Waits until the machine is settled, at most that long; zero does not wait. */
  async function settle(actor: Actor, machine: MachineRow, seconds: number): Promise<MachineRow> {
    return seconds > 0 ? waitForRest(app, actor, machine.id, seconds * 1000) : machine
  }
}

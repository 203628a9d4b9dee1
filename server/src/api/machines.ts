import type { Machine, machines } from '@computer/contract'
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
import { showTime } from './show.ts'

/** Creation holds its answer that long; the work goes on after it (wire, Machines). */
const createWaitMs = 120_000

export function machineRoutes(app: App): Routes<typeof machines> {
  return {
    create: async (actor, { body, newId }) => {
      const { id } = await createMachine(app, actor, newId('mch'), body)
      return show(await waitForRest(app, actor, id, createWaitMs))
    },
    list: async (actor, { query }) => {
      const page = await listMachines(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
    get: async (actor, { params }) => show(await getMachine(app.db, actor, params.machine_id)),
    update: async (actor, { params, body }) =>
      show(await updateMachine(app, actor, params.machine_id, body)),
    start: async (actor, { params, query }) => {
      const asked = await startMachine(app, actor, params.machine_id)
      return show(await rest(actor, asked, query.wait))
    },
    stop: async (actor, { params, query, body }) => {
      const asked = await stopMachine(app, actor, params.machine_id, body)
      return show(await rest(actor, asked, query.wait))
    },
    restart: async (actor, { params, query }) => {
      const asked = await restartMachine(app, actor, params.machine_id)
      return show(await rest(actor, asked, query.wait))
    },
    delete: async (actor, { params }) => show(await deleteMachine(app, actor, params.machine_id)),
    fork: async (actor, { params, body, newId }) =>
      show(await forkMachine(app, actor, params.machine_id, newId('mch'), body)),
    restore: async (actor, { params, query, body }) => {
      const asked = await restoreMachine(app, actor, params.machine_id, body.snapshot_id)
      return show(await rest(actor, asked, query.wait))
    },
    usage: (actor, { params }) => readUsage(app, actor, params.machine_id),
  }

  async function rest(actor: Actor, asked: MachineRow, seconds: number): Promise<MachineRow> {
    return seconds > 0 ? waitForRest(app, actor, asked.id, seconds * 1000) : asked
  }
}

function show(row: MachineRow): Machine {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    started_at: showTime(row.started_at),
    stopped_at: showTime(row.stopped_at),
  }
}

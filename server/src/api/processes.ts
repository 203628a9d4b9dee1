import type { processes } from '@computer/contract'
import type { App } from '../app.ts'
import {
  getProcess,
  listProcesses,
  readProcessLog,
  signalProcess,
  startProcess,
  writeProcessInput,
} from '../domain/guests/processes.ts'
import type { Routes } from './route.ts'
import { pageToWire } from './to-wire.ts'

export function processRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof processes> {
  return {
    start: (actor, { params, body, newId }) =>
      startProcess(app, actor, params.machine_id, newId('prc'), body),
    list: async (actor, { params, query }) =>
      pageToWire(await listProcesses(app, actor, params.machine_id, query), (one) => one),
    get: (actor, { params, query, signal }) => getProcess(app, actor, params, { ...query, signal }),
    logs: (actor, { params, query, signal }) =>
      readProcessLog(app, actor, params, { ...query, signal }),
    stdin: async (actor, { params, body }) => {
      await writeProcessInput(app, actor, params, body)
      return undefined
    },
    signal: async (actor, { params, body }) => {
      await signalProcess(app, actor, params, body)
      return undefined
    },
  }
}

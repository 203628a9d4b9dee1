import type { secrets } from '@computer/contract'
import type { App } from '../app.ts'
import { deleteSecret, listSecrets, putSecret, requireKeyring } from '../domain/secrets/secrets.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function secretRoutes(app: Pick<App, 'db' | 'changes' | 'config'>): Routes<typeof secrets> {
  return {
    list: async (actor, { params, query }) => {
      await requireKeyring(app.config)
      const filter = { ...query, machineId: params.machine_id }
      return pageToWire(await listSecrets(app.db, actor, filter), rowToWire)
    },
    put: async (actor, { params, body }) =>
      rowToWire(await putSecret(app, actor, params.machine_id, body)),
    delete: async (actor, { params }) => {
      await deleteSecret(app, actor, params.machine_id, params.name)
    },
    listAll: async (actor, { query }) => {
      await requireKeyring(app.config)
      return pageToWire(await listSecrets(app.db, actor, query), rowToWire)
    },
  }
}

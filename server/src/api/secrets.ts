import type { Secret, secrets } from '@computer/contract'
import type { App } from '../app.ts'
import type { SecretRow } from '../db/database.ts'
import { deleteSecret, listSecrets, putSecret, requireKeyring } from '../domain/secrets/secrets.ts'
import type { Routes } from './route.ts'
import { showTime } from './show.ts'

export function secretRoutes(app: Pick<App, 'db' | 'changes' | 'config'>): Routes<typeof secrets> {
  return {
    list: async (actor, { params, query }) => {
      await requireKeyring(app.config)
      const page = await listSecrets(app.db, actor, { ...query, machineId: params.machine_id })
      return { ...page, data: page.data.map(show) }
    },
    put: async (actor, { params, body }) =>
      show(await putSecret(app, actor, params.machine_id, body)),
    delete: async (actor, { params }) => {
      await deleteSecret(app, actor, params.machine_id, params.name)
    },
    listAll: async (actor, { query }) => {
      await requireKeyring(app.config)
      const page = await listSecrets(app.db, actor, query)
      const data = page.data.map((row) => ({ ...show(row), machine_id: row.machine_id }))
      return { ...page, data }
    },
  }
}

function show(row: Pick<SecretRow, 'name' | 'version' | 'delivered_at'>): Secret {
  const { name, version, delivered_at } = row
  return { name, version, delivered_at: showTime(delivered_at) }
}

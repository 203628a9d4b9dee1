import type { organizations } from '@computer/contract'
import type { App } from '../app.ts'
import { leaveOrganization } from '../domain/accounts/members.ts'
import { deleteOrganization } from '../domain/accounts/organization-deletion.ts'
import { createOrganization, renameOrganization } from '../domain/accounts/organizations.ts'
import type { Routes } from './route.ts'
import { rowToWire } from './to-wire.ts'

export function organizationRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof organizations> {
  return {
    create: async (actor, { body, newId }) =>
      rowToWire(await createOrganization(app, actor, newId('org'), body)),
    rename: async (actor, { params, body }) =>
      rowToWire(await renameOrganization(app, actor, params.organization_id, body.name)),
    delete: async (actor, { params }) => {
      await deleteOrganization(app, actor, params.organization_id)
    },
    leave: async (actor, { params }) => {
      await leaveOrganization(app, actor, params.organization_id)
    },
  }
}

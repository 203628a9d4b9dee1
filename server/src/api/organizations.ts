import type { Organization, organizations } from '@computer/contract'
import type { App } from '../app.ts'
import type { OrganizationRow } from '../db/database.ts'
import { leaveOrganization } from '../domain/accounts/members.ts'
import { createOrganization, renameOrganization } from '../domain/accounts/organizations.ts'
import type { Routes } from './route.ts'

export function organizationRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof organizations> {
  return {
    create: async (actor, { body, newId }) =>
      show(await createOrganization(app, actor, newId('org'), body)),
    rename: async (actor, { params, body }) =>
      show(await renameOrganization(app, actor, params.organization_id, body.name)),
    leave: async (actor, { params }) => {
      await leaveOrganization(app, actor, params.organization_id)
    },
  }
}

function show(row: OrganizationRow): Organization {
  return { ...row, created_at: row.created_at.toISOString() }
}

import { z } from 'zod'

/** Permissions (specification, Authentication 4 and 5). Reading requires only membership. */

export const Permission = z
  .enum([
    'machines:create',
    'machines:control',
    'machines:delete',
    'snapshots:write',
    'snapshots:delete',
    'templates:write',
    'ports:write',
    'secrets:write',
    'members:manage',
    'api_keys:manage',
    'billing:manage',
  ])
  .meta({ id: 'Permission' })
export type Permission = z.infer<typeof Permission>

export const Role = z.enum(['owner', 'admin', 'member']).meta({ id: 'Role' })
export type Role = z.infer<typeof Role>

const everyone: readonly Permission[] = [
  'machines:create',
  'machines:control',
  'snapshots:write',
  'ports:write',
  'secrets:write',
]
const administrators: readonly Permission[] = [
  ...everyone,
  'machines:delete',
  'snapshots:delete',
  'templates:write',
  'members:manage',
  'api_keys:manage',
]

export const rolePermissions: Readonly<Record<Role, readonly Permission[]>> = {
  owner: Permission.options,
  admin: administrators,
  member: everyone,
}

export const ApiKeyScope = z
  .enum([
    'machines:read',
    'machines:write',
    'machines:control',
    'snapshots:read',
    'snapshots:write',
    'templates:read',
    'templates:write',
    'sessions:read',
    'sessions:write',
    'ports:read',
    'ports:write',
    'secrets:write',
    'usage:read',
  ])
  .meta({
    id: 'ApiKeyScope',
    description:
      'What a key may change. Any key can read everything in its organization, including the content of machines: files, screens, the clipboard and the output of processes.',
  })
export type ApiKeyScope = z.infer<typeof ApiKeyScope>

/** A key has those of its creator's permissions that its scopes grant. Any key may read. */
export const scopePermissions: Readonly<Record<ApiKeyScope, readonly Permission[]>> = {
  'machines:read': [],
  'snapshots:read': [],
  'templates:read': [],
  'sessions:read': [],
  'usage:read': [],
  'ports:read': [],
  'sessions:write': [],
  'machines:write': ['machines:create', 'machines:delete'],
  'machines:control': ['machines:control'],
  'snapshots:write': ['snapshots:write', 'snapshots:delete'],
  'templates:write': ['templates:write'],
  'ports:write': ['ports:write'],
  'secrets:write': ['secrets:write'],
}

/** Permissions of a role, narrowed to those that `scopes` grant when the caller is an API key. */
export function permissionsOf(
  role: Role,
  scopes: readonly ApiKeyScope[] | null = null,
): ReadonlySet<Permission> {
  if (scopes === null) return new Set(rolePermissions[role])
  const granted = new Set(scopes.flatMap((scope) => scopePermissions[scope]))
  return new Set(rolePermissions[role].filter((permission) => granted.has(permission)))
}

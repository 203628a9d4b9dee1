import type { ApiKeyScope, Permission } from '@computer/sdk'
import { apiKeyScopes, scopePermissions } from '@computer/sdk/tables'
import { permissionMeanings } from '../../words.ts'

export type Preset = { readonly label: string; readonly scopes: readonly ApiKeyScope[] }

/** Usual choices, from the least to the most. */
export const presets: readonly Preset[] = [
  { label: 'Read only', scopes: apiKeyScopes.filter((scope) => scope.endsWith(':read')) },
  {
    label: 'Drive machines',
    scopes: ['machines:read', 'machines:control', 'sessions:read', 'sessions:write'],
  },
  { label: 'Everything', scopes: apiKeyScopes },
]

export function findPreset(scopes: readonly ApiKeyScope[]): Preset | undefined {
  return presets.find(
    (preset) =>
      preset.scopes.length === scopes.length && preset.scopes.every((one) => scopes.includes(one)),
  )
}

/** The scopes by the resource that they are about, such as "Machines". */
export const scopeGroups: readonly { readonly title: string; readonly scopes: ApiKeyScope[] }[] = [
  ...new Set(apiKeyScopes.map(resourceOf)),
].map((resource) => ({
  title: resource[0]!.toUpperCase() + resource.slice(1),
  scopes: apiKeyScopes.filter((scope) => resourceOf(scope) === resource),
}))

/** What a scope allows a key whose creator has these permissions, as a sentence. */
export function describeScope(scope: ApiKeyScope, permissions: readonly Permission[]): string {
  const all = scopePermissions[scope]
  const granted = all.filter((permission) => permissions.includes(permission))
  const missing = all.filter((permission) => !permissions.includes(permission))
  if (all.length === 0) return 'Grants nothing more than reading, which every key may do.'
  if (granted.length === 0) return `Grants nothing now: you may not ${inWords(missing)} yourself.`
  const rest = missing.length > 0 ? ` Not ${inWords(missing)}: you may not yourself.` : ''
  return `May ${inWords(granted)}.${rest}`
}

function inWords(permissions: readonly Permission[]): string {
  return permissions.map((permission) => permissionMeanings[permission]).join('; ')
}

function resourceOf(scope: ApiKeyScope): string {
  return scope.slice(0, scope.indexOf(':'))
}

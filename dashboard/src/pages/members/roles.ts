import type { Role } from '@computer/sdk'
import { rolePermissions, roles } from '@computer/sdk/tables'
import { permissionMeanings } from '../../words.ts'

export const roleWords: Readonly<Record<Role, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  member: 'Member',
}

/** Such as "an admin". */
export function withArticle(role: Role): string {
  return `${/^[aeiou]/.test(role) ? 'an' : 'a'} ${role}`
}

/** What a role may do beyond reading, in words: beyond the next lesser role, if it has all that one has. */
export function describeRole(role: Role): string {
  const [lesser] = roles
    .filter((other) => other !== role && includes(role, other))
    .toSorted((a, b) => rolePermissions[b].length - rolePermissions[a].length)
  const known = lesser ? rolePermissions[lesser] : []
  const own = rolePermissions[role].filter((permission) => !known.includes(permission))
  const beginning = lesser ? `All that ${withArticle(lesser)} may` : 'See everything'
  return `${[beginning, ...own.map((permission) => permissionMeanings[permission])].join('; ')}.`
}

function includes(role: Role, other: Role): boolean {
  return rolePermissions[other].every((permission) => rolePermissions[role].includes(permission))
}

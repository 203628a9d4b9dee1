import type { Permission } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import { ApiError } from '../../errors.ts'

/** What the contract requires of a member of the organization. */
type Requirement = 'member' | Permission

export function hasPermission(
  { permissions }: Pick<Actor, 'permissions'>,
  requires: Requirement,
): boolean {
  return requires === 'member' || permissions.has(requires)
}

export function requirePermission(actor: Pick<Actor, 'permissions'>, requires: Requirement): void {
  if (!hasPermission(actor, requires)) throw missingPermission(requires)
}

export function missingPermission(requires: Requirement): ApiError {
  return new ApiError('permission_denied', `this needs the permission ${requires}`)
}

import { permissionsOf, type ApiKeyScope, type Role } from '@computer/contract'

/*
 * A plain model of what the specification says about the people of one organization, their roles and
 * their keys. Each call returns its status and changes the model if it succeeds.
 */

export type ModelKey = {
  readonly creator: number
  readonly scopes: readonly ApiKeyScope[]
  isRevoked: boolean
}

export class PermissionsModel {
  /** The role of each member, by the number of the person. */
  readonly roles: Map<number, Role>

  readonly keys: ModelKey[] = []

  constructor(roles: readonly (readonly [number, Role])[]) {
    this.roles = new Map(roles)
  }

  changeRole(by: number, whom: number, role: Role): number {
    const [mine, theirs] = [this.roles.get(by)!, this.roles.get(whom)]
    if (mine === 'member') return 403
    if (!theirs) return 404
    if (theirs === role) return 200
    if (role === 'owner' && mine !== 'owner') return 403
    if (theirs === 'owner' && mine !== 'owner') return 403
    if (this.#isLastOwner(whom)) return 409
    this.roles.set(whom, role)
    return 200
  }

  remove(by: number, whom: number): number {
    const [mine, theirs] = [this.roles.get(by)!, this.roles.get(whom)]
    if (mine === 'member') return 403
    if (!theirs) return 404
    if (theirs === 'owner' && mine !== 'owner') return 403
    if (this.#isLastOwner(whom)) return 409
    this.roles.delete(whom)
    return 204
  }

  leave(who: number): number {
    if (this.#isLastOwner(who)) return 409
    this.roles.delete(who)
    return 204
  }

  /** The invitation is accepted at once. */
  invite(by: number, whom: number, role: Role): number {
    const mine = this.roles.get(by)!
    if (mine === 'member') return 403
    if (role === 'owner' && mine !== 'owner') return 403
    if (this.roles.has(whom)) return 409
    this.roles.set(whom, role)
    return 201
  }

  createKey(by: number, scopes: readonly ApiKeyScope[]): number {
    if (this.roles.get(by) === 'member') return 403
    this.keys.push({ creator: by, scopes, isRevoked: false })
    return 201
  }

  revokeKey(by: number, key: ModelKey): number {
    if (this.roles.get(by) === 'member') return 403
    key.isRevoked = true
    return 200
  }

  /** The current permissions of a key; null if it is refused. */
  permissionsOf({ creator, scopes, isRevoked }: ModelKey): ReadonlySet<string> | null {
    const role = this.roles.get(creator)
    return role && !isRevoked ? permissionsOf(role, scopes) : null
  }

  #isLastOwner(who: number): boolean {
    const owners = [...this.roles.values()].filter((role) => role === 'owner')
    return this.roles.get(who) === 'owner' && owners.length === 1
  }
}

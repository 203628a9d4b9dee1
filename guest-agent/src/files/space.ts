import type { User, Users } from '../users.ts'
import type { DenyList } from './deny.ts'
import { walk, type Place, type WalkOptions } from './walk.ts'

/** What the file routes work on. `owner` is the user new files in shared directories belong to. */
export type FileSpace = { readonly deny: DenyList; readonly users: Users; readonly owner: User }

export function walkIn(
  space: FileSpace,
  path: string,
  options: Omit<WalkOptions, 'deny' | 'home'> = {},
): Place {
  return walk(path, { deny: space.deny, home: space.owner.home, ...options })
}

import type { User, Users } from '../system/users.ts'
import type { DenyList } from './deny.ts'
import { walk, type OpenPath, type WalkOptions } from './walk.ts'

/** The files as the routes see them. New files in shared directories belong to `owner`. */
export type FileSpace = { readonly deny: DenyList; readonly users: Users; readonly owner: User }

export function openPath(
  space: FileSpace,
  path: string,
  options: Omit<WalkOptions, 'deny' | 'home'> = {},
): OpenPath {
  return walk(path, { deny: space.deny, home: space.owner.home, ...options })
}

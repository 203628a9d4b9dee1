import type { Permission } from '@computer/sdk'
import type { Connection } from './connection.ts'
import type { Tool } from './tool.ts'

/** The client waits for the list of tools meanwhile. */
const timeoutMs = 3_000

/** The permissions of the key of a connection. Null if the server does not tell now. */
export async function readPermissions({
  computer,
}: Connection): Promise<ReadonlySet<Permission> | null> {
  try {
    const { permissions } = await computer.me({ signal: AbortSignal.timeout(timeoutMs) })
    return new Set(permissions)
  } catch {
    return null
  }
}

/** Any key may read. Most tools that change something control a machine. */
export function isPermitted(
  { annotations, requires = 'machines:control' }: Tool,
  permissions: ReadonlySet<Permission> | null,
): boolean {
  return permissions === null || annotations.readOnlyHint || permissions.has(requires)
}

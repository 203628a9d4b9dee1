import type { IncusClient } from './client.ts'

/*
 * An engine may be the member of a cluster. Each host of a server is one member then, with a project of its own, so that
 * a worker sees the instances of its member alone.
 */

type Server = {
  readonly environment: { readonly server_clustered: boolean; readonly server_name: string }
}

/** Makes the engine do something on the member that is asked. Without it, the cluster chooses one. */
export type Target = { readonly target?: string }

/** Where the engine that answers makes instances; empty if it is alone. */
export async function readTarget(client: IncusClient): Promise<Target> {
  const { environment } = await client.get<Server>('/1.0')
  return environment.server_clustered ? { target: environment.server_name } : {}
}

/** The names of all members of the cluster; none if the engine is alone. */
export async function listMembers(client: IncusClient): Promise<readonly string[]> {
  if ((await readTarget(client)).target === undefined) return []
  const members = await client.get<{ server_name: string }[]>('/1.0/cluster/members', {
    query: { recursion: 1 },
  })
  return members.map((member) => member.server_name)
}

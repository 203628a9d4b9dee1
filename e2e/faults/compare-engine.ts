import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { captureNameOf, nameOf } from '../../server/src/drivers/incus/instance.ts'
import {
  listInstances,
  runningOperations,
  type Instance,
} from '../../server/src/drivers/incus/instances.ts'
import { engineSocketPath } from '../../server/src/host/engine.ts'
import type { MachineRow } from '../../server/src/db/database.ts'
import type { Rows } from './rows.ts'

const project = 'computer'
const uidBase = 1_000_000

export async function readInstances(dataDir: string): Promise<readonly Instance[]> {
  using client = new IncusClient({ socketPath: engineSocketPath(dataDir) })
  return await listInstances({ client, project })
}

/** The engine's running operations. */
export async function findOperations(dataDir: string): Promise<string[]> {
  using client = new IncusClient({ socketPath: engineSocketPath(dataDir) })
  const operations = await runningOperations({ client, project })
  return operations.map(({ id, description }) => `the engine still runs: ${description} (${id})`)
}

/** Expects one instance for each machine with a disk and for each copy of a capture on the host, and no other. */
export function compareEngine(rows: Rows, host: string, instances: readonly Instance[]): string[] {
  const names = new Map(instances.map((instance) => [instance.name, instance]))
  const problems: string[] = []
  const take = (name: string) => {
    const found = names.get(name)
    names.delete(name)
    return found
  }
  for (const row of rows.machines.filter((one) => one.host === host)) {
    const instance = take(nameOf(row))
    // The creation of a machine in error may have failed before the disk was made.
    const mayLack = row.state === 'error' && !row.started_at && !row.stopped_at
    if (instance) problems.push(...compareMachine(row, instance))
    else if (!mayLack) problems.push(`${row.id} is ${row.state} and has no instance`)
  }
  for (const row of rows.warm.filter((one) => one.host === host)) {
    const instance = take(nameOf(row))
    if (instance) problems.push(...compareMachine({ ...row, state: 'running' }, instance))
    else problems.push(`${row.id} is in the pool and has no instance`)
  }
  for (const { id, state } of rows.captures) {
    const instance = take(captureNameOf(id))
    const isHere = rows.copies.some((copy) => copy.capture_id === id && copy.host === host)
    if (isHere && !instance) problems.push(`${id} is ${state} and its copy is missing`)
    if (!isHere && instance) problems.push(`${id} is ${state} and has a copy that no row names`)
    if (instance && instance.status !== 'Stopped') problems.push(`${id} is ${instance.status}`)
  }
  for (const name of names.keys()) problems.push(`the instance ${name} has no row`)
  return problems
}

function compareMachine(
  row: Pick<MachineRow, 'id' | 'state' | 'uid_slot'>,
  { status, config }: Instance,
): string[] {
  const expected = row.state === 'running' ? 'Running' : 'Stopped'
  const base = String(uidBase + row.uid_slot * 65_536)
  return [
    status !== expected && `${row.id} is ${row.state} and its instance is ${status}`,
    config['security.idmap.base'] !== base &&
      `${row.id} has uids from ${config['security.idmap.base']} instead of ${base}`,
    config['boot.autostart'] !== 'false' && `${row.id} would start with the engine`,
  ].filter((problem) => problem !== false)
}

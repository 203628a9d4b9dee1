import type { MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { CallOptions } from '../../guest/call.ts'
import type { GuestRef } from '../../guest/channels.ts'
import type { GuestClient } from '../../guest/client.ts'
import { waitAtMost } from '../../pace.ts'
import { askGuest } from './calls.ts'

type Guests = Pick<App, 'db' | 'guests'>

export function runCommand(
  app: Guests,
  actor: Actor,
  id: MachineId,
  command: Parameters<GuestClient['exec']>[1],
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.exec(ref, command, options))
}

/** Longer than most disks take. The measurement goes on, and a later call finds its result. */
const diskTimeoutMs = 2_000

/** The resources that a running machine uses: its agent measures them, and the engine the disk. */
export async function readUsage(
  app: Guests & Pick<App, 'hosts' | 'log'>,
  actor: Actor,
  id: MachineId,
) {
  return askGuest(app, actor, id, async (ref) => {
    const [usage, diskBytes] = await Promise.all([app.guests.usage(ref), measureDisk(app, ref)])
    return { ...usage, disk_used_bytes: diskBytes ?? usage.disk_used_bytes }
  })
}

/** Null if the engine cannot measure the disk, or not in time. */
async function measureDisk(app: Pick<App, 'hosts' | 'log'>, ref: GuestRef): Promise<number | null> {
  const measured = app.hosts.measureDisk(ref).catch((error: unknown) => {
    app.log.warn({ err: error, machine_id: ref.id }, 'could not measure a disk')
    return null
  })
  return (await waitAtMost(diskTimeoutMs, measured)) ?? null
}

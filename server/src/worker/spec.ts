import type { App } from '../app.ts'
import type { MachineRow } from '../db/database.ts'
import type { MachineSpec } from '../drivers/machine-driver.ts'

/** How long a guest may take to shut down before it is powered off. */
export const stopGraceMs = 30_000

/** The driver's parameters for a machine. */
export function specOf(app: Pick<App, 'config'>, machine: MachineRow): MachineSpec {
  return {
    id: machine.id,
    generation: machine.generation,
    imageId: machine.image_id,
    captureId: machine.base_capture_id,
    cpu: machine.cpu,
    memoryMb: machine.memory_mb,
    diskGb: machine.disk_gb,
    uidBase: uidBaseOf(app, machine),
  }
}

/** The first of the host uids that are the slot's. */
export function uidBaseOf(
  app: Pick<App, 'config'>,
  { uid_slot: slot }: Pick<MachineRow, 'uid_slot'>,
): number {
  return app.config.uidBase + slot * 65_536
}

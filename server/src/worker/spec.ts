import type { App } from '../app.ts'
import type { WarmMachineRow } from '../db/database.ts'
import type { MachineSpec } from '../drivers/machine-driver.ts'

/** How long a guest may take to shut down before it is powered off. */
export const stopGraceMs = 30_000

/** The columns that machines and warm machines have in common. */
type Made = Pick<
  WarmMachineRow,
  | 'id'
  | 'generation'
  | 'image_id'
  | 'base_capture_id'
  | 'cpu'
  | 'memory_mb'
  | 'disk_gb'
  | 'uid_slot'
>

/** The driver's parameters for a machine. */
export function specOf(app: Pick<App, 'config'>, machine: Made): MachineSpec {
  return {
    id: machine.id,
    generation: machine.generation,
    imageId: machine.image_id,
    captureId: machine.base_capture_id,
    cpu: machine.cpu,
    memoryMb: machine.memory_mb,
    diskGb: machine.disk_gb,
    uidBase: app.config.uidBase + machine.uid_slot * 65_536,
  }
}

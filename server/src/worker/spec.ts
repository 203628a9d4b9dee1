import type { App } from '../app.ts'
import type { MachineRow } from '../db/database.ts'
import type { MachineSpec } from '../drivers/machine-driver.ts'

/** What a shutdown may take before the plug is pulled. */
export const stopGraceMs = 30_000

/** The machine as the engine is to make it. */
export function specOf(app: Pick<App, 'config'>, machine: MachineRow): MachineSpec {
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

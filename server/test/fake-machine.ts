import type { ImageId } from '@computer/contract'
import { setImmediate } from 'node:timers/promises'
import type { MachineSpec } from '../src/drivers/machine-driver.ts'

export const testImageId: ImageId = 'img_00000000000000000000000001'

export function machineSpec(number: number, generation = 1): MachineSpec {
  return {
    id: `mch_${String(number).padStart(26, '0')}`,
    generation,
    imageId: testImageId,
    captureId: null,
    cpu: 2,
    memoryMb: 4096,
    diskGb: 10,
    uidBase: 1_000_000 + number * 65_536,
  }
}

/** Waits for a condition, and fails if it does not become true in ten seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`did not become true in time: ${condition}`)
    await setImmediate()
  }
}

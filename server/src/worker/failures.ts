import { CaptureMissing, PoolFull } from '../drivers/machine-driver.ts'

/** A step that cannot succeed, for a reason that its caller is told. */
export class StepFailed extends Error {
  override name = 'StepFailed'
}

/** What may be said of it to a caller, to be added to what failed. The log has the rest. */
export function reasonOf(error: unknown): string {
  if (error instanceof StepFailed) return `: ${error.message}`
  if (error instanceof PoolFull) return ': the disk of this server is full'
  if (error instanceof CaptureMissing) return ': the captured disk is gone'
  return ''
}

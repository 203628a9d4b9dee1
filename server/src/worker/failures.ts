import { CaptureMissing, PoolFull } from '../drivers/machine-driver.ts'

/** A step that can never succeed. Callers see the message. */
export class StepFailed extends Error {
  override name = 'StepFailed'
}

/** The part of the cause that callers may see, to append to a message. The log has the rest. */
export function reasonOf(error: unknown): string {
  if (error instanceof StepFailed) return `: ${error.message}`
  if (error instanceof PoolFull) return ': the disk of this server is full'
  if (error instanceof CaptureMissing) return ': the captured disk is gone'
  return ''
}

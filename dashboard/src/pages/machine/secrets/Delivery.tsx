import type { Secret } from '@computer/sdk'
import { Time } from '../../../ui/Time.tsx'

/** Whether the machine has this version of a secret. */
export function Delivery({
  secret: { deliveredAt },
  isRunning,
}: {
  readonly secret: Pick<Secret, 'deliveredAt'>
  /** Undefined if it is not known. */
  readonly isRunning: boolean | undefined
}) {
  if (deliveredAt !== null)
    return (
      <>
        delivered <Time iso={deliveredAt} />
      </>
    )
  if (isRunning === undefined) return 'not delivered yet'
  return isRunning ? 'is being delivered' : 'will be delivered at the next start'
}

import type { Activity } from '@computer/sdk'
import { actorKind, isKnownActivity } from './activity-types.ts'
import { ActivityText } from './ActivityText.tsx'
import { TimelineRow } from './TimelineRow.tsx'

/** A row says what was done and by whom; inside a run, which says it, without the kind of actor. */
export function ActivityRow({
  activity,
  isInRun = false,
}: {
  readonly activity: Activity
  readonly isInRun?: boolean
}) {
  const { type, actor, occurredAt } = activity
  const kind = actorKind(actor)
  return (
    <TimelineRow at={occurredAt} beside={!isInRun && kind !== '' && <p>{kind}</p>}>
      <p className="wrap-anywhere">
        <ActivityText activity={activity} />{' '}
        {isKnownActivity(type) && <code className="ml-1 text-xs text-muted">{type}</code>}
      </p>
    </TimelineRow>
  )
}

import { useSilence } from '../api/liveness.ts'
import { formatTimeOfDay } from '../format.ts'

/** What the pages show is no longer kept current: it says since when. */
export function SilenceNotice() {
  const since = useSilence()
  return (
    <div role="status">
      {since !== undefined && (
        <p className="bg-warn-soft px-4 py-2 text-warn">
          {`The connection for live updates is lost. What is shown is as it was at ${formatTimeOfDay(since)}. The page goes on trying.`}
        </p>
      )}
    </div>
  )
}

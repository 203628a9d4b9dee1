import type { SnapshotState } from '@computer/sdk'
import { Badge } from '../../../ui/Badge.tsx'

/** The state of a snapshot, unless it is ready. */
export function SnapshotStateBadge({ state }: { readonly state: SnapshotState }) {
  if (state === 'pending') return <Badge tone="warn">Being taken</Badge>
  if (state === 'error') return <Badge tone="bad">Failed</Badge>
  if (state === 'deleting') return <Badge tone="warn">Being deleted</Badge>
  return null
}

import type { PreviewAccess } from '@computer/sdk'
import { Badge } from '../../../ui/Badge.tsx'

/** Who may open a published port. */
export function AccessBadge({ access }: { readonly access: PreviewAccess }) {
  return access === 'public' ? <Badge tone="warn">Public</Badge> : <Badge>Private</Badge>
}

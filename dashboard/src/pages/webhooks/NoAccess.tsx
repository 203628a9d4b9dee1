import type { ReactNode } from 'react'
import { useSession } from '../../api/session.ts'
import { Empty } from '../../ui/Empty.tsx'

/** For a person who may not manage webhooks: the server does not let them read any. */
export function NoAccess({ action }: { readonly action?: ReactNode }) {
  const { organization } = useSession()
  return (
    <Empty title="You may not read webhooks" action={action}>
      They are for people who may manage API keys and webhooks in {organization.name}. Ask one of
      its owners or admins.
    </Empty>
  )
}

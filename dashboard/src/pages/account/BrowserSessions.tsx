import type { AuthSession } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { signOut } from '../../api/auth.ts'
import { authSessionsQuery, revokeAuthSession } from '../../api/auth-sessions.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { notifyError } from '../../ui/notify.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/Time.tsx'
import { describeBrowser } from './describe-browser.ts'

/** Where the person is signed in. */
export function BrowserSessions() {
  const query = useInfiniteQuery(authSessionsQuery)
  return (
    <>
      <QueryView query={query}>
        {({ pages }) => (
          <ul aria-label="Browsers that are signed in" className="divide-y divide-line">
            {pages
              .flatMap(({ data }) => data)
              .map((session) => (
                <BrowserSession key={session.id} session={session} />
              ))}
          </ul>
        )}
      </QueryView>
      <LoadMore query={query} />
    </>
  )
}

function BrowserSession({ session }: { readonly session: AuthSession }) {
  const { id, userAgent, address, createdAt, lastUsedAt, current } = session
  const name = describeBrowser(userAgent)
  const [isRevoking, setRevoking] = useState(false)
  const leave = () =>
    signOut().catch((error: unknown) => notifyError('You are still signed in', error))
  return (
    <li className="flex items-center gap-3 py-2 first:pt-0 last:pb-0">
      <div className="min-w-0 flex-1">
        <p className="flex items-center gap-2">
          <bdi className="min-w-0 truncate font-medium" title={userAgent ?? undefined}>
            {name}
          </bdi>
          {current && <Badge tone="accent">this browser</Badge>}
        </p>
        <p className="text-xs text-muted">
          {address && <code>{address}</code>}
          {address && ', '}
          {current ? 'in use' : <>used {<Time iso={lastUsedAt} />}</>}, signed in{' '}
          <Time iso={createdAt} />
        </p>
      </div>
      {current ? (
        <Button size="small" onClick={() => void leave()}>
          Sign out
        </Button>
      ) : (
        <Button size="small" aria-label={`Sign out ${name}`} onClick={() => setRevoking(true)}>
          Sign out
        </Button>
      )}
      <Confirm
        open={isRevoking}
        onOpenChange={setRevoking}
        title={`Sign out ${name}`}
        action="Sign out"
        onConfirm={() => revokeAuthSession(id)}
      >
        <p>That browser has to sign in again. If it is not yours, change your password too.</p>
      </Confirm>
    </li>
  )
}

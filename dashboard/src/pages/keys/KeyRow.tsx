import type { ApiKey } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { revokeApiKey } from '../../api/api-keys.ts'
import { membersQuery } from '../../api/members.ts'
import { useDenial } from '../../api/session.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { cx } from '../../ui/cx.ts'
import { isolate } from '../../ui/isolate.ts'
import { notify } from '../../ui/notify.ts'
import { Cell, Row } from '../../ui/Table.tsx'
import { Time, useNow } from '../../ui/Time.tsx'
import { findPreset } from './scopes.ts'

export function KeyRow({ apiKey }: { readonly apiKey: ApiKey }) {
  const { name, prefix, scopes, createdBy, createdAt, lastUsedAt, expiresAt, revokedAt } = apiKey
  const isExpired = useNow() >= Date.parse(expiresAt ?? '9999-01-01')
  const hasEnded = revokedAt !== null || isExpired
  return (
    <Row>
      <Cell className="max-w-56">
        <bdi
          className={cx('block truncate font-medium', hasEnded && 'text-muted line-through')}
          title={name}
        >
          {name}
        </bdi>
        <code className="text-xs text-muted">{prefix}…</code>
      </Cell>
      <Cell className="max-w-56 text-xs text-muted">
        <span title={scopes.join(', ')}>{findPreset(scopes)?.label ?? scopes.join(', ')}</span>
      </Cell>
      <Cell className="max-w-40">
        <Creator userId={createdBy} />
      </Cell>
      <Cell className="text-muted">
        <Time iso={createdAt} />
      </Cell>
      <Cell className="text-muted">{lastUsedAt ? <Time iso={lastUsedAt} /> : 'Never'}</Cell>
      <Cell className="text-muted">
        {revokedAt === null ? (
          expiresAt === null ? (
            'Never'
          ) : (
            <Time iso={expiresAt} />
          )
        ) : (
          <Time iso={revokedAt} />
        )}
      </Cell>
      <Cell className="text-right">
        {revokedAt !== null && <Badge tone="bad">Revoked</Badge>}
        {revokedAt === null && isExpired && <Badge tone="warn">Expired</Badge>}
        {!hasEnded && <Revoke apiKey={apiKey} />}
      </Cell>
    </Row>
  )
}

function Revoke({ apiKey: { id, name, prefix } }: { readonly apiKey: ApiKey }) {
  const denied = useDenial('api_keys:manage')
  const [isRevoking, setRevoking] = useState(false)
  return (
    <>
      <Button
        size="small"
        aria-label={`Revoke ${name}`}
        disabledReason={denied}
        onClick={() => setRevoking(true)}
      >
        Revoke
      </Button>
      <Confirm
        open={isRevoking}
        onOpenChange={setRevoking}
        title={`Revoke ${name}`}
        action="Revoke"
        onConfirm={async () => {
          await revokeApiKey(id)
          notify(`${isolate(name)} is revoked`)
        }}
      >
        <p>
          Programs that use the key <code>{prefix}…</code> are refused within a second. A revoked
          key never works again.
        </p>
      </Confirm>
    </>
  )
}

/** Keys name their creator by id. Nobody is named whose membership has ended, and with it the key's use. */
function Creator({ userId }: { readonly userId: string }) {
  const { data, hasNextPage } = useInfiniteQuery(membersQuery)
  const members = data?.pages.flatMap((page) => page.data)
  const creator = members?.find(({ user }) => user.id === userId)
  if (creator)
    return (
      <bdi className="block truncate" title={creator.user.email}>
        {creator.user.name}
      </bdi>
    )
  return (
    <span className="text-muted" title={userId}>
      {members && !hasNextPage ? 'No longer a member' : userId}
    </span>
  )
}

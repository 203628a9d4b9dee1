import type { Preview } from '@computer/sdk'
import type { ReactNode } from 'react'
import { Code } from '../../../ui/Code.tsx'
import { AccessBadge } from './AccessBadge.tsx'
import { PortLink } from './PortLink.tsx'

/** The answer to publishing: the address, and the credentials that no later call returns. */
export function PublishedPort({ preview }: { readonly preview: Preview }) {
  const { url, secret, accessUrl, access } = preview
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center gap-2">
        <PortLink url={url} />
        <AccessBadge access={access} />
      </div>
      {secret !== null && (
        <Part
          title="Secret for programs"
          note="Send it as authorization: Bearer, or as x-preview-secret. It is shown only now."
        >
          <Code text={secret} label="the secret" />
        </Part>
      )}
      {accessUrl !== null && (
        <Part
          title="Link for one person"
          note="It opens the port in one browser, once, within a day, without an account. It is shown only now."
        >
          <Code text={accessUrl} label="the link" />
        </Part>
      )}
      {access === 'public' && (
        <p className="text-muted">Everyone who has this address can open it.</p>
      )}
      {access === 'private' && secret === null && (
        <p className="text-muted">
          It was published before, and its secret cannot be shown again. For a new one, unpublish
          the port and publish it again.
        </p>
      )}
    </div>
  )
}

function Part({
  title,
  note,
  children,
}: {
  readonly title: string
  readonly note: string
  readonly children: ReactNode
}) {
  return (
    <div>
      <h3 className="text-[13px] font-medium">{title}</h3>
      <p className="mb-1.5 text-xs text-muted">{note}</p>
      {children}
    </div>
  )
}

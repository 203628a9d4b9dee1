import { ApiError, type Quota } from '@computer/sdk'
import type { ReactNode } from 'react'
import { formatNumber } from '../format.ts'
import { quotaWords } from '../words.ts'
import { CopyButton } from './CopyButton.tsx'
import { CircleAlert } from './icons.ts'

/** What failed, in the server's words, with the id of the request and the next step. */
export function ErrorNotice({
  error,
  title,
  children,
}: {
  readonly error: unknown
  readonly title?: string | undefined
  /** The next step, such as a button that tries again. */
  readonly children?: ReactNode
}) {
  const api = error instanceof ApiError ? error : null
  return (
    <div role="alert" className="flex gap-2.5 rounded-lg bg-bad-soft p-3 text-sm">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1 space-y-1">
        {title && <p className="font-medium">{title}</p>}
        {api?.quota ? (
          <QuotaText quota={api.quota} message={api.message} />
        ) : (
          <p className="break-words">{messageOf(error)}</p>
        )}
        {api?.details.map(({ field, message }) => (
          <p key={field} className="text-[13px] break-words">
            <code>{field}</code>: {message}
          </p>
        ))}
        {children}
        {api?.requestId && (
          <p className="flex items-center gap-1 text-xs text-muted">
            Request <code className="break-all">{api.requestId}</code>
            <CopyButton text={api.requestId} label="Copy the request id" />
          </p>
        )}
      </div>
    </div>
  )
}

/**
 * A limit of the plan is drawn from its numbers: the message is for people without a dashboard. If nothing at
 * all is allowed, only the message tells why.
 */
function QuotaText({ quota, message }: { readonly quota: Quota; readonly message: string }) {
  const { limit, current, maximum, planId, upgradeUrl } = quota
  return (
    <>
      <p>
        {maximum === null
          ? `The plan ${planId} has no number of ${quotaWords[limit]} agreed yet.`
          : maximum === 0
            ? message
            : `The plan ${planId} includes ${formatNumber(maximum)} ${quotaWords[limit]}, and ${formatNumber(current)} are in use.`}
      </p>
      {upgradeUrl && (
        <a href={upgradeUrl} className="font-medium underline">
          See the plans
        </a>
      )}
    </>
  )
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError && error.code === 'connection_failed' && error.requestId === null)
    return 'The server did not answer. Check the connection, then try again.'
  return error instanceof Error ? error.message : String(error)
}

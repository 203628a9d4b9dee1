import type { HelpRequest } from '@computer/sdk'
import { useSession } from '../../api/session.ts'
import { Lock } from '../../ui/icons.ts'
import { Age, Moment } from '../../ui/Time.tsx'
import { privateNote, privatePromise } from './help-words.ts'
import { HelpButtons } from './HelpButtons.tsx'
import { HelpMessage } from './HelpMessage.tsx'
import { HelpPersonName } from './HelpPersonName.tsx'
import { HelpPicture } from './HelpPicture.tsx'
import { HelpTitle } from './HelpTitle.tsx'

/** A request that waits for a person, or that a person has. */
export function HelpCard({ help }: { readonly help: HelpRequest }) {
  const { state, message, requestedBy, assignee, createdAt, expiresAt } = help
  return (
    <li className="overflow-hidden rounded-xl border border-line bg-raised sm:flex">
      <div className="sm:w-56 sm:shrink-0">
        <HelpPicture help={help} />
      </div>
      <div className="min-w-0 flex-1 space-y-2 p-3">
        <HelpTitle help={help} />
        <HelpMessage text={message} />
        <p className="text-[13px] text-muted">
          <HelpPersonName person={requestedBy} /> asked <Age since={createdAt} /> ago and waits
          until <Moment iso={expiresAt} />.
          {assignee && (
            <>
              {' '}
              It is for <bdi className="font-medium">{assignee.name}</bdi>.
            </>
          )}{' '}
          <Taker help={help} />
        </p>
        {help.private && (
          <p className="flex items-start gap-1.5 text-[13px] text-muted">
            <Lock className="mt-0.5 size-3.5 shrink-0" aria-hidden />
            Private: {lowerFirst(state === 'active' ? privateNote : privatePromise)}
          </p>
        )}
        <HelpButtons help={help} />
      </div>
    </li>
  )
}

function Taker({ help: { state, takenBy, takenAt } }: { readonly help: HelpRequest }) {
  const { user } = useSession()
  if (state !== 'active' || !takenBy || !takenAt) return null
  const isOwn = takenBy.type === 'user' && takenBy.id === user?.id
  return (
    <>
      {isOwn ? (
        'You have had it'
      ) : (
        <>
          <HelpPersonName person={takenBy} /> has had it
        </>
      )}{' '}
      for <Age since={takenAt} />.
    </>
  )
}

function lowerFirst(text: string): string {
  return text[0]!.toLowerCase() + text.slice(1)
}

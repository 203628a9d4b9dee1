import type { HelpRequest } from '@computer/sdk'
import { useId } from 'react'
import { Time } from '../../ui/Time.tsx'
import { HelpBrief } from './HelpBrief.tsx'
import { HelpEnd } from './HelpEnd.tsx'
import { HelpMessage } from './HelpMessage.tsx'
import { HelpPersonName } from './HelpPersonName.tsx'
import { HelpTitle } from './HelpTitle.tsx'

/** The requests that have ended, newest first. */
export function EarlierHelp({ requests }: { readonly requests: readonly HelpRequest[] }) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="mt-8">
      <h2 id={id} className="mb-2 font-medium">
        Earlier
      </h2>
      <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
        {requests.map((help) => (
          <Ended key={help.id} help={help} />
        ))}
      </ul>
    </section>
  )
}

function Ended({ help }: { readonly help: HelpRequest }) {
  const { message, requestedBy, createdAt, endedAt, answer, brief } = help
  return (
    <li className="space-y-1 p-3">
      <HelpTitle help={help} />
      <HelpMessage text={message} />
      <p>
        <HelpEnd help={help} />
      </p>
      {answer !== null && answer.text !== null && (
        <blockquote className="border-l-2 border-line pl-2">
          <HelpMessage text={answer.text} />
        </blockquote>
      )}
      {brief && <HelpBrief id={help.id} brief={brief} />}
      <p className="text-[13px] text-muted">
        <HelpPersonName person={requestedBy} /> asked <Time iso={createdAt} />
        {endedAt !== null && (
          <>
            , ended <Time iso={endedAt} />
          </>
        )}
        .
      </p>
    </li>
  )
}

import type { HelpRequest } from '@computer/sdk'
import { useId } from 'react'
import { Badge } from '../../ui/Badge.tsx'
import { Time } from '../../ui/Time.tsx'
import { MachineLink } from '../machine/MachineLink.tsx'
import { helpStateTones, helpStateWords, reasonText } from './help-words.ts'
import { HelpBrief } from './HelpBrief.tsx'
import { HelpEnd } from './HelpEnd.tsx'
import { HelpMessage } from './HelpMessage.tsx'
import { HelpPersonName } from './HelpPersonName.tsx'

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
  const { state, reason, message, machineId, requestedBy, createdAt, endedAt, answer, brief } = help
  return (
    <li className="space-y-1 p-3">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Badge tone={helpStateTones[state]}>{helpStateWords[state]}</Badge>
        <span className="min-w-0 font-medium">
          <bdi>{reasonText(reason)}</bdi>
        </span>
        <span className="min-w-0 wrap-anywhere text-muted">
          on <MachineLink machineId={machineId} />
        </span>
      </p>
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

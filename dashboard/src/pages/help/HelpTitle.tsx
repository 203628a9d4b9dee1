import type { HelpRequest } from '@computer/sdk'
import { Badge } from '../../ui/Badge.tsx'
import { MachineLink } from '../machine/MachineLink.tsx'
import { helpStateTones, helpStateWords, reasonText } from './help-words.ts'

/** The state of a request, its reason and its machine, in the first line of a list's entry. */
export function HelpTitle({ help: { state, reason, machineId } }: { readonly help: HelpRequest }) {
  return (
    <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <Badge tone={helpStateTones[state]}>{helpStateWords[state]}</Badge>
      <span className="min-w-0 font-medium">
        <bdi>{reasonText(reason)}</bdi>
      </span>
      <span className="min-w-0 wrap-anywhere text-muted">
        on <MachineLink machineId={machineId} />
      </span>
    </p>
  )
}

import type { HelpRequest } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { cancelHelp } from '../../api/help-requests.ts'
import { machineQuery } from '../../api/machines.ts'
import { useDenial, useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { Hand, Link2, Send, X } from '../../ui/icons.ts'
import { isolate } from '../../ui/isolate.ts'
import { notRunning } from '../machine/use-machine.ts'
import { AnswerHelp } from './AnswerHelp.tsx'
import { HelpLink } from './HelpLink.tsx'
import { useTakeOver } from './take-over.ts'

/** The actions of a person on a request that has not ended. */
export function HelpButtons({ help }: { readonly help: HelpRequest }) {
  const denied = useDenial('machines:control')
  const { user } = useSession()
  const { data: machine } = useQuery(machineQuery(help.machineId))
  const takeOver = useTakeOver()
  const [open, setOpen] = useState<'answer' | 'cancel' | 'link'>()
  const close = () => setOpen(undefined)
  const { state, takenBy } = help
  const isOwn = takenBy?.type === 'user' && takenBy.id === user?.id
  const taken =
    state === 'active' && !isOwn
      ? `${isolate(takenBy?.name ?? 'Another person')} has it now.`
      : undefined
  const stopped = machine && notRunning(machine)
  return (
    <div className="flex flex-wrap gap-1.5">
      <Button
        look="primary"
        icon={<Hand aria-hidden />}
        disabledReason={denied ?? taken ?? stopped}
        onClick={() => takeOver(help)}
      >
        Take over
      </Button>
      <Button
        icon={<Send aria-hidden />}
        disabledReason={denied ?? taken}
        onClick={() => setOpen('answer')}
      >
        Answer
      </Button>
      <Button icon={<Link2 aria-hidden />} disabledReason={denied} onClick={() => setOpen('link')}>
        Copy link
      </Button>
      <Button icon={<X aria-hidden />} disabledReason={denied} onClick={() => setOpen('cancel')}>
        Cancel
      </Button>
      {open === 'answer' && <AnswerHelp help={help} onClose={close} />}
      {open === 'link' && <HelpLink help={help} onClose={close} />}
      <Confirm
        open={open === 'cancel'}
        onOpenChange={close}
        title="Cancel this help request?"
        action="Cancel the request"
        onConfirm={() => cancelHelp(help)}
      >
        <p>
          The agent is told that nobody will help. Whoever has the screen loses it, and links to it
          end.
        </p>
      </Confirm>
    </div>
  )
}

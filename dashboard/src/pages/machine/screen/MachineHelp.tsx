import type { HelpRequest } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { helpQuery } from '../../../api/help-requests.ts'
import { useDenial, useSession } from '../../../api/session.ts'
import { formatCount } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { Hand, X } from '../../../ui/icons.ts'
import { Age } from '../../../ui/Time.tsx'
import { privatePromise } from '../../help/help-words.ts'
import { HelpBar, HelpFrame } from '../../help/HelpBar.tsx'
import { HelpEnd } from '../../help/HelpEnd.tsx'
import { HelpPersonName } from '../../help/HelpPersonName.tsx'
import type { LiveScreen, ScreenState } from './live-screen.ts'

/** Above the screen of a machine: the help request that this page has, or that somebody is to take. */
export function MachineHelp({
  current,
  state: { helpId, busy },
  screen,
}: {
  /** The machine's requests that have not ended, newest first. */
  readonly current: readonly HelpRequest[]
  readonly state: Pick<ScreenState, 'helpId' | 'busy'>
  readonly screen: LiveScreen | undefined
}) {
  /** The request that this page had last, until the person has read how it ended. */
  const [lastId, setLastId] = useState(helpId)
  if (helpId !== null && helpId !== lastId) setLastId(helpId)
  const own = current.find(({ id }) => id === helpId)
  const taken = current.find(({ state }) => state === 'active')
  const oldest = current.findLast(({ state }) => state === 'open')
  if (own && screen)
    return (
      <HelpBar
        help={own}
        askedBy={own.requestedBy.name}
        isReleasing={busy === 'handing'}
        onAnswer={(answer) => screen.answer(own, answer)}
        onRelease={() => void screen.handBack()}
      />
    )
  if (taken) return <Taken help={taken} isBusy={busy === 'taking'} onTake={screen?.takeForHelp} />
  return (
    <>
      {lastId !== null && helpId === null && (
        <Last helpId={lastId} onDismiss={() => setLastId(null)} />
      )}
      {oldest && helpId === null && (
        <Open
          help={oldest}
          others={current.length - 1}
          isBusy={busy === 'taking'}
          onTake={screen?.takeForHelp}
        />
      )}
    </>
  )
}

type Take = LiveScreen['takeForHelp'] | undefined

function Open({
  help,
  others,
  isBusy,
  onTake,
}: {
  readonly help: HelpRequest
  readonly others: number
  readonly isBusy: boolean
  readonly onTake: Take
}) {
  return (
    <HelpFrame
      help={help}
      title={
        <>
          <HelpPersonName person={help.requestedBy} /> has waited for <Age since={help.createdAt} />
        </>
      }
    >
      {help.private && <p className="text-[13px] text-muted">{privatePromise}</p>}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <TakeButton help={help} isBusy={isBusy} onTake={onTake}>
          Take over for this request
        </TakeButton>
        <Link to="/help-requests" className="text-[13px] text-accent-fg underline">
          {others > 0 ? `${formatCount(others, 'more request')}` : 'Answer without the screen'}
        </Link>
      </div>
    </HelpFrame>
  )
}

function Taken({
  help,
  isBusy,
  onTake,
}: {
  readonly help: HelpRequest
  readonly isBusy: boolean
  readonly onTake: Take
}) {
  const { user } = useSession()
  const isOwn = help.takenBy?.type === 'user' && help.takenBy.id === user?.id
  return (
    <HelpFrame
      help={help}
      title={
        isOwn ? (
          'You have taken it, and this page does not drive'
        ) : (
          <>{help.takenBy && <HelpPersonName person={help.takenBy} />} has it</>
        )
      }
    >
      {isOwn && (
        <TakeButton help={help} isBusy={isBusy} onTake={onTake}>
          Take over here
        </TakeButton>
      )}
    </HelpFrame>
  )
}

function TakeButton({
  help,
  isBusy,
  onTake,
  children,
}: {
  readonly help: HelpRequest
  readonly isBusy: boolean
  readonly onTake: Take
  readonly children: string
}) {
  const denied = useDenial('machines:control')
  return (
    <Button
      look="primary"
      icon={<Hand aria-hidden />}
      busy={isBusy}
      disabledReason={denied}
      onClick={() => void onTake?.(help)}
    >
      {children}
    </Button>
  )
}

/** How the request has ended that this page had. */
function Last({ helpId, onDismiss }: { readonly helpId: string; readonly onDismiss: () => void }) {
  const { data: help } = useQuery(helpQuery(helpId))
  if (!help || help.endedAt === null) return null
  return (
    <div className="flex items-start gap-2 border-b border-line bg-raised px-3 py-2.5">
      <p role="status" className="min-w-0 flex-1">
        <HelpEnd help={help} />
      </p>
      <Button look="ghost" size="small" label="Dismiss" icon={<X />} onClick={onDismiss} />
    </div>
  )
}

import type { Machine } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { machineHelpQuery } from '../../../api/help-requests.ts'
import { isSignedOut, useDenial, useSession } from '../../../api/session.ts'
import { useShortcut } from '../../../keyboard/shortcuts.ts'
import { cx } from '../../../ui/cx.ts'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { SignInAgain } from '../SignInAgain.tsx'
import { ControlBar } from './ControlBar.tsx'
import { CopiedText } from './CopiedText.tsx'
import { collectWanted } from '../../help/take-over.ts'
import { holderOf, type Holder } from './holder.ts'
import { MachineHelp } from './MachineHelp.tsx'
import { PictureHost } from './PictureHost.tsx'
import { PictureNotice } from './PictureNotice.tsx'
import { PointerLayer } from './PointerLayer.tsx'
import { ScreenTools } from './ScreenTools.tsx'
import { TypeBar } from './TypeBar.tsx'
import { useFullScreen } from './use-full-screen.ts'
import { useScreen } from './use-screen.ts'

const frames: Readonly<Record<Holder['is'], string>> = {
  you: 'border-accent bg-accent-soft',
  another: 'border-warn bg-warn-soft',
  nobody: 'border-line-strong bg-sunken',
  unknown: 'border-line bg-sunken',
}

const privatePicture = { is: 'private' } as const

export function ScreenView({ machine }: { readonly machine: Machine }) {
  const session = useSession()
  const denied = useDenial('machines:control')
  const controlButton = useRef<HTMLButtonElement>(null)
  const helpBar = useRef<HTMLDivElement>(null)
  const { host, state, screen, dismissCopied } = useScreen(machine, () =>
    (controlButton.current ?? helpBar.current?.querySelector('button'))?.focus(),
  )
  const full = useFullScreen()
  const [isTyping, setTyping] = useState(false)
  const holder = holderOf(state, session)
  const drives = holder.is === 'you'
  const { data: help = [] } = useQuery(machineHelpQuery(machine.id))
  const hidden = help.find((one) => one.state === 'active' && one.private)
  // A connection to a private screen is refused before it opens, and a browser does not tell why.
  const isRefused =
    hidden !== undefined && hidden.id !== state.helpId && state.picture.is === 'none'
  const picture = isRefused ? privatePicture : state.picture
  useEffect(() => {
    const wanted = screen && collectWanted(machine.id)
    if (wanted) void screen.takeForHelp(wanted)
  }, [screen, machine.id])
  useEffect(() => {
    if (!hidden) screen?.retryNow()
  }, [hidden, screen])
  const toggle = () => {
    if (!screen || state.busy || denied || holder.is === 'unknown') return
    void (drives ? screen.handBack() : screen.take())
  }
  useShortcut('t', drives ? 'Hand back the machine' : 'Take over the machine', toggle)

  return (
    <section
      aria-label="Screen"
      data-holder={holder.is}
      className={cx(
        'flex min-h-0 flex-1 flex-col border-2',
        frames[holder.is],
        full.isFull ? 'fixed inset-0 z-30' : 'm-2 rounded-lg sm:m-4',
      )}
    >
      <div ref={helpBar}>
        <MachineHelp current={help} state={state} screen={screen} />
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-2.5 py-2">
        <ControlBar
          ref={controlButton}
          holder={holder}
          state={state}
          isOffered={help.some((one) => one.state === 'open')}
          denied={denied}
          onToggle={toggle}
        />
        <ScreenTools
          drives={drives}
          screen={screen}
          isTyping={isTyping}
          onTyping={() => setTyping(!isTyping)}
          full={full}
        />
      </div>
      {state.failure && (
        <div className="px-2.5 pb-2">
          <ErrorNotice {...state.failure} />
        </div>
      )}
      <div className="relative min-h-80 flex-1 overflow-hidden rounded-b-md bg-page">
        <PictureHost ref={host} picture={picture} className="transition-opacity" />
        {screen && <PointerLayer screen={screen} />}
        {state.busy !== 'taking' && (
          <PictureNotice
            state={{ picture, refusal: state.refusal }}
            name={machine.name}
            privateTo={hidden?.takenBy?.name}
          >
            {isSignedOut(state.refusal) && <SignInAgain />}
          </PictureNotice>
        )}
        {state.copied !== null && <CopiedText text={state.copied} onClose={dismissCopied} />}
      </div>
      {drives && isTyping && screen && <TypeBar screen={screen} />}
    </section>
  )
}

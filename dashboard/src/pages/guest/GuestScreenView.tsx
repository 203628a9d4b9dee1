import type { GuestHelp } from '@computer/sdk'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import type { HelpAnswer } from '../../api/help-requests.ts'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { useTitle } from '../../ui/Page.tsx'
import { HelpBar } from '../help/HelpBar.tsx'
import { CopiedText } from '../machine/screen/CopiedText.tsx'
import { PictureHost } from '../machine/screen/PictureHost.tsx'
import { PictureNotice } from '../machine/screen/PictureNotice.tsx'
import { PointerLayer } from '../machine/screen/PointerLayer.tsx'
import { ScreenTools } from '../machine/screen/ScreenTools.tsx'
import { TypeBar } from '../machine/screen/TypeBar.tsx'
import { useFullScreen } from '../machine/screen/use-full-screen.ts'
import { helpGuest } from './guest-client.ts'
import { initialGuestScreen, startGuestScreen, type GuestScreen } from './guest-screen.ts'

/** The machine's screen while the guest has it, below what is asked. */
export function GuestScreenView({
  help,
  sessionId,
  onChanged,
  onLost,
}: {
  readonly help: GuestHelp
  readonly sessionId: string
  /** The request has changed by what the guest did. */
  readonly onChanged: (help: GuestHelp) => void
  readonly onLost: (to: string | null) => void
}) {
  const { machine } = help
  const host = useRef<HTMLDivElement>(null)
  const top = useRef<HTMLHeadingElement>(null)
  const [state, setState] = useState(initialGuestScreen)
  const [screen, setScreen] = useState<GuestScreen>()
  const [isTyping, setTyping] = useState(false)
  const [isReleasing, setReleasing] = useState(false)
  const [error, setError] = useState<unknown>()
  const full = useFullScreen()
  useTitle(machine.name)
  const lose = useEffectEvent(onLost)
  useEffect(() => {
    const started = startGuestScreen(
      host.current!,
      { machine: { id: machine.id, name: machine.name }, sessionId },
      {
        onChange: (change) => setState((old) => ({ ...old, ...change })),
        onLost: (to) => lose(to),
        onLeave: () => top.current?.focus(),
      },
    )
    setScreen(started)
    return () => {
      started.end()
      setScreen(undefined)
      setState(initialGuestScreen)
    }
  }, [machine.id, machine.name, sessionId])
  const answer = async (given: HelpAnswer) => {
    const answered = await helpGuest.answer(given)
    screen?.end()
    onChanged(answered)
  }
  const release = async () => {
    setReleasing(true)
    setError(undefined)
    try {
      const released = await helpGuest.release()
      screen?.end()
      onChanged(released)
    } catch (caught) {
      setError(caught)
      setReleasing(false)
    }
  }
  const { isHeld, picture, copied } = state
  return (
    <main className="flex h-dvh min-h-[32rem] flex-col border-2 border-accent bg-accent-soft">
      <h1 ref={top} tabIndex={-1} className="sr-only">
        The screen of {machine.name}
      </h1>
      <HelpBar
        help={help}
        askedBy={help.requestedByName}
        isReleasing={isReleasing}
        onAnswer={answer}
        onRelease={() => void release()}
      />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-2.5 py-1.5">
        <p role="status" className="flex-1 text-sm font-medium whitespace-nowrap">
          {isHeld ? 'You drive' : 'Connecting to the screen'}
        </p>
        <ScreenTools
          drives={isHeld}
          screen={screen}
          canMatch={false}
          isTyping={isTyping}
          onTyping={() => setTyping(!isTyping)}
          full={full}
        />
      </div>
      {error !== undefined && (
        <div className="px-2.5 pb-2">
          <ErrorNotice error={error} title="The machine could not be handed back." />
        </div>
      )}
      <div className="relative min-h-40 flex-1 overflow-hidden bg-page">
        <PictureHost ref={host} picture={picture} />
        {screen && <PointerLayer screen={screen} />}
        <PictureNotice state={state} name={machine.name} />
        {copied !== null && (
          <CopiedText text={copied} onClose={() => setState((old) => ({ ...old, copied: null }))} />
        )}
      </div>
      {isHeld && isTyping && screen && <TypeBar screen={screen} />}
    </main>
  )
}

import type { Machine } from '@computer/sdk'
import { useRef, useState } from 'react'
import { useDenial, useSession } from '../../../api/session.ts'
import { useShortcut } from '../../../keyboard/shortcuts.ts'
import { cx } from '../../../ui/cx.ts'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { ControlBar } from './ControlBar.tsx'
import { CopiedText } from './CopiedText.tsx'
import { holderOf, type Holder } from './holder.ts'
import { PictureNotice } from './PictureNotice.tsx'
import { PointerLayer } from './PointerLayer.tsx'
import { ScreenTools } from './ScreenTools.tsx'
import { TypeBar } from './TypeBar.tsx'
import { useFullScreen } from './use-full-screen.ts'
import { useScreen } from './use-screen.ts'
import type { Scale } from './view.ts'

const frames: Readonly<Record<Holder['is'], string>> = {
  you: 'border-accent bg-accent-soft',
  another: 'border-warn bg-warn-soft',
  nobody: 'border-line-strong bg-sunken',
  unknown: 'border-line bg-sunken',
}

export function ScreenView({ machine }: { readonly machine: Machine }) {
  const session = useSession()
  const denied = useDenial('machines:control')
  const controlButton = useRef<HTMLButtonElement>(null)
  const { host, state, screen, dismissCopied } = useScreen(machine, () =>
    controlButton.current?.focus(),
  )
  const full = useFullScreen()
  const [scale, setScale] = useState<Scale>('fit')
  const [isTyping, setTyping] = useState(false)
  const holder = holderOf(state, session)
  const drives = holder.is === 'you'
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
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-2.5 py-2">
        <ControlBar
          ref={controlButton}
          holder={holder}
          state={state}
          denied={denied}
          onToggle={toggle}
        />
        <ScreenTools
          drives={drives}
          screen={screen}
          scale={scale}
          onScale={(next) => {
            setScale(next)
            screen?.setScale(next)
          }}
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
        <div
          ref={host}
          data-takes-keys
          data-picture={state.picture.is}
          className={cx(
            'absolute inset-0 transition-opacity [&:has(canvas:focus-visible)]:outline-2 [&:has(canvas:focus-visible)]:-outline-offset-2 [&:has(canvas:focus-visible)]:outline-accent-fg',
            state.picture.is === 'old' && 'opacity-35 grayscale',
          )}
        />
        {screen && <PointerLayer screen={screen} />}
        <PictureNotice state={state} name={machine.name} />
        {state.copied !== null && <CopiedText text={state.copied} onClose={dismissCopied} />}
      </div>
      {drives && isTyping && screen && <TypeBar machine={machine} screen={screen} />}
    </section>
  )
}

import { useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import {
  Check,
  ChevronDown,
  Keyboard,
  Maximize,
  Minimize,
  Pencil,
  Scaling,
} from '../../../ui/icons.ts'
import { Menu, MenuItem } from '../../../ui/Menu.tsx'
import { keptKeys } from './key-codes.ts'
import type { LiveScreen } from './live-screen.ts'
import type { FullScreen } from './use-full-screen.ts'
import type { Scale } from './view.ts'

const scales: readonly (readonly [value: Scale, label: string])[] = [
  ['fit', 'Fit the page'],
  ['actual', 'Actual size (1:1)'],
  ['match', 'Match the window'],
]
const needsControl = 'Take over first.'

/** The size of the picture, the keys that browsers keep, and the full screen. */
export function ScreenTools({
  drives,
  screen,
  canMatch = true,
  isTyping,
  onTyping,
  full,
}: {
  readonly drives: boolean
  readonly screen: Pick<LiveScreen, 'canvas' | 'press' | 'focus' | 'setScale'> | undefined
  /** The person may change the size of the display. */
  readonly canMatch?: boolean
  readonly isTyping: boolean
  readonly onTyping: () => void
  readonly full: FullScreen
}) {
  const [scale, setScale] = useState<Scale>('fit')
  return (
    <div role="toolbar" aria-label="Screen tools" className="flex flex-wrap items-center gap-1">
      {drives && (
        <span className="mr-2 hidden text-xs text-muted lg:inline">
          <kbd>Ctrl Alt Esc</kbd> leaves the screen
          {full.isLocked && (
            <>
              , holding <kbd>Esc</kbd> the full screen
            </>
          )}
        </span>
      )}
      <Menu
        trigger={
          <Button look="ghost" size="small" icon={<Scaling aria-hidden />}>
            Scale
            <ChevronDown aria-hidden />
          </Button>
        }
      >
        {scales
          .filter(([value]) => canMatch || value !== 'match')
          .map(([value, label]) => (
            <MenuItem
              key={value}
              icon={<Check aria-hidden className={value === scale ? undefined : 'invisible'} />}
              disabledReason={
                value === 'match' && !drives && 'Take over first: it changes the display.'
              }
              onSelect={() => {
                setScale(value)
                screen?.setScale(value)
              }}
            >
              {label}
              {value === scale && <span className="sr-only">, chosen</span>}
            </MenuItem>
          ))}
      </Menu>
      <Menu
        // The person goes on in the screen.
        finalFocus={() => (drives && screen?.canvas()) || true}
        trigger={
          <Button look="ghost" size="small" icon={<Keyboard aria-hidden />}>
            Keys
            <ChevronDown aria-hidden />
          </Button>
        }
      >
        {keptKeys.map(([label, ...combination]) => (
          <MenuItem
            key={label}
            disabledReason={!drives && needsControl}
            onSelect={() => screen?.press(...combination)}
          >
            {label}
          </MenuItem>
        ))}
      </Menu>
      <Button
        look="ghost"
        size="small"
        icon={<Pencil aria-hidden />}
        aria-pressed={isTyping && drives}
        disabledReason={!drives && needsControl}
        className={isTyping && drives ? 'bg-hover' : undefined}
        onClick={onTyping}
      >
        Type text
      </Button>
      <Button
        look="ghost"
        size="small"
        label={full.isFull ? 'Leave the full screen' : 'Full screen'}
        icon={full.isFull ? <Minimize /> : <Maximize />}
        onClick={() => {
          void full.toggle()
          if (drives) screen?.focus()
        }}
      />
    </div>
  )
}

import { useState, type MouseEvent } from 'react'
import { cx } from '../../../ui/cx.ts'
import { withControl } from './keys.ts'
import type { TerminalSession } from './session.ts'

const keys = [
  { label: 'Esc', data: '\x1b' },
  { label: 'Tab', data: '\t' },
  { label: '←', name: 'Left', arrow: 'D' },
  { label: '↓', name: 'Down', arrow: 'B' },
  { label: '↑', name: 'Up', arrow: 'A' },
  { label: '→', name: 'Right', arrow: 'C' },
] as const

/** The keys that a phone's keyboard lacks. Ctrl applies to the next key. */
export function KeyRow({ session }: { readonly session: TerminalSession }) {
  const [isControl, setControl] = useState(false)
  const { terminal } = session.emulator
  const hold = (isHeld: boolean) => {
    setControl(isHeld)
    session.mapInput(
      isHeld
        ? (data) => {
            hold(false)
            return withControl(data)
          }
        : null,
    )
    terminal.focus()
  }
  const press = (key: (typeof keys)[number]) => {
    if ('data' in key) session.type(key.data)
    else session.type(`\x1b${terminal.modes.applicationCursorKeysMode ? 'O' : '['}${key.arrow}`)
    terminal.focus()
  }
  const look = 'h-9 flex-1 rounded-md border border-line text-sm'
  return (
    <div
      role="toolbar"
      aria-label="Keys"
      className="flex gap-1 border-t border-line bg-page p-1 md:hidden"
    >
      <button
        type="button"
        aria-pressed={isControl}
        onMouseDown={keepFocus}
        className={cx(look, isControl ? 'bg-accent text-white' : 'bg-raised')}
        onClick={() => hold(!isControl)}
      >
        Ctrl
      </button>
      {keys.map((key) => (
        <button
          key={key.label}
          type="button"
          aria-label={'name' in key ? key.name : undefined}
          onMouseDown={keepFocus}
          className={cx(look, 'bg-raised')}
          onClick={() => press(key)}
        >
          {key.label}
        </button>
      ))}
    </div>
  )
}

/** A press must not close the phone's keyboard. */
function keepFocus(event: MouseEvent): void {
  event.preventDefault()
}

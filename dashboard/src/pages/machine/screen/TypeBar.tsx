import { useState, type MouseEvent } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { keys, type Key } from './key-codes.ts'

const shownKeys: readonly (readonly [label: string, name: string, key: Key])[] = [
  ['Enter', 'Enter', keys.enter],
  ['⌫', 'Backspace', keys.backspace],
  ['Esc', 'Esc', keys.escape],
  ['Tab', 'Tab', keys.tab],
  ['←', 'Left', keys.left],
  ['↓', 'Down', keys.down],
  ['↑', 'Up', keys.up],
  ['→', 'Right', keys.right],
]

/** A field that opens a phone's keyboard, and the keys that it lacks. Also takes long texts to paste. */
export function TypeBar({
  screen,
}: {
  readonly screen: {
    readonly type: (text: string) => Promise<void>
    readonly paste: (text: string) => Promise<void>
    readonly press: (key: Key) => void
  }
}) {
  const [text, setText] = useState('')
  const [busy, setBusy] = useState<'type' | 'paste'>()
  const [error, setError] = useState<unknown>()
  const send = async (how: 'type' | 'paste') => {
    if (busy || text === '') return
    setBusy(how)
    setError(undefined)
    try {
      await (how === 'type' ? screen.type(text) : screen.paste(text))
      // Text that the person has changed meanwhile stays.
      setText((now) => (now === text ? '' : now))
    } catch (caught) {
      setError(caught)
    }
    setBusy(undefined)
  }
  const missing = text === '' && 'Enter some text first.'
  return (
    <div className="space-y-1.5 p-2">
      {error !== undefined && <ErrorNotice error={error} title="The text was not typed." />}
      <form
        className="flex items-end gap-1.5"
        onSubmit={(event) => {
          event.preventDefault()
          void send('type')
        }}
      >
        <textarea
          aria-label="Text to type"
          placeholder="Text to type"
          rows={1}
          // A person who asks for the field wants to type, and a phone shows its keyboard at once.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          autoCapitalize="off"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
          className="max-h-32 min-h-9 min-w-0 flex-1 rounded-md border border-line-strong bg-raised px-2.5 py-1.5 text-base sm:text-sm"
        />
        <Button
          type="submit"
          look="primary"
          className="h-9!"
          onMouseDown={keepFocus}
          busy={busy === 'type'}
          disabledReason={missing}
        >
          Type
        </Button>
        <Button
          className="h-9!"
          onMouseDown={keepFocus}
          busy={busy === 'paste'}
          disabledReason={missing}
          onClick={() => void send('paste')}
        >
          Paste
        </Button>
      </form>
      <div role="toolbar" aria-label="Keys" className="flex gap-1">
        {shownKeys.map(([label, name, key]) => (
          <button
            key={name}
            type="button"
            aria-label={name}
            onMouseDown={keepFocus}
            onClick={() => screen.press(key)}
            className="h-9 min-w-0 flex-1 rounded-md border border-line bg-raised text-sm hover:bg-hover"
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  )
}

/** A press must not close the phone's keyboard. */
function keepFocus(event: MouseEvent): void {
  event.preventDefault()
}

import { useState } from 'react'
import { TextField, type TextFieldProps } from './Field.tsx'

export type PasswordFieldProps = Omit<TextFieldProps, 'type' | 'autoComplete'> & {
  /** What password managers do: fill in the known one, or suggest and keep a new one. */
  readonly autoComplete: 'current-password' | 'new-password'
}

/** A password that can be shown, to check it before it is sent. */
export function PasswordField(props: PasswordFieldProps) {
  const [isShown, setShown] = useState(false)
  return (
    <div className="relative">
      <TextField
        {...props}
        type={isShown ? 'text' : 'password'}
        autoCapitalize="none"
        spellCheck={false}
      />
      <button
        type="button"
        aria-pressed={isShown}
        aria-label={`Show ${props.label.toLowerCase()}`}
        onClick={() => setShown(!isShown)}
        className="absolute top-0 right-0 rounded px-1 text-[13px] text-accent-fg hover:underline"
      >
        {isShown ? 'Hide' : 'Show'}
      </button>
    </div>
  )
}

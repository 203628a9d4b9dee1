import { limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { cx } from './cx.ts'
import { rateNewPassword } from './password-strength.ts'
import { PasswordField, type PasswordFieldProps } from './PasswordField.tsx'

const tones = ['bg-line', 'bg-bad-solid', 'bg-warn', 'bg-good'] as const

/** A password to choose, with a hint of how hard it is to guess. */
export function NewPasswordField({
  own = [],
  ...field
}: Omit<PasswordFieldProps, 'autoComplete' | 'hint' | 'value' | 'onValueChange'> & {
  /** The person's name and email, which no password should be made of. */
  readonly own?: readonly string[] | undefined
}) {
  const [password, setPassword] = useState('')
  const { level, text } = rateNewPassword(password, own)
  return (
    <PasswordField
      {...field}
      autoComplete="new-password"
      required
      minLength={limits.password.minLength}
      maxLength={limits.password.maxLength}
      value={password}
      onValueChange={setPassword}
      hint={
        <>
          <span aria-hidden className="mt-0.5 mb-1 grid grid-cols-3 gap-1">
            {[1, 2, 3].map((part) => (
              <span
                key={part}
                className={cx('h-1 rounded-full', part <= level ? tones[level] : 'bg-line')}
              />
            ))}
          </span>
          {text}
        </>
      }
    />
  )
}

import { limits } from '@computer/sdk/tables'
import { TextField, type TextFieldProps } from '../../ui/Field.tsx'

/** The email of an account, which password managers know as the name of the user. */
export function EmailField(props: Omit<TextFieldProps, 'label' | 'name' | 'type'>) {
  return (
    <TextField
      label="Email"
      name="email"
      type="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      required
      maxLength={limits.email.maxLength}
      {...props}
    />
  )
}

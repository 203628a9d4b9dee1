import { limits } from '@computer/sdk/tables'
import { useState, type ReactNode } from 'react'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { useForm } from '../../ui/use-form.ts'
import { EmailField } from './EmailField.tsx'

export type NewAccount = {
  readonly name: string
  readonly email: string
  readonly password: string
}

/** The fields of a new account. `fields` of the server may stand in `account`, as of a sign-in link. */
export function AccountForm({
  action,
  email: fixedEmail,
  onSubmit,
  nextStep,
}: {
  readonly action: string
  /** The account is for this email, and no other can be typed. */
  readonly email?: string | undefined
  readonly onSubmit: (account: NewAccount) => Promise<unknown>
  readonly nextStep?: ((error: unknown) => ReactNode) | undefined
}) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState(fixedEmail ?? '')
  const names = ['name', 'email', 'password']
  const fields = [...names, ...names.map((field) => `account.${field}`)]
  const form = useForm(fields, (values) =>
    onSubmit({ name: name.trim(), email, password: String(values.get('password')) }),
  )
  const errorOf = (field: string) => form.errorOf(field) ?? form.errorOf(`account.${field}`)
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <TextField
        label="Name"
        name="name"
        autoComplete="name"
        required
        maxLength={limits.personName.maxLength}
        value={name}
        onValueChange={setName}
        error={errorOf('name')}
        // Elsewhere the form is all of the page.
        autoFocus={fixedEmail === undefined}
      />
      <EmailField
        value={email}
        onValueChange={setEmail}
        readOnly={fixedEmail !== undefined}
        error={errorOf('email')}
      />
      <NewPasswordField
        label="Password"
        name="password"
        own={[name, email]}
        error={errorOf('password')}
      />
      {form.error !== undefined && (
        <ErrorNotice error={form.error}>{nextStep?.(form.error)}</ErrorNotice>
      )}
      <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
        {action}
      </Button>
    </form>
  )
}

import { useState } from 'react'
import { changePassword } from '../../api/auth.ts'
import { refreshAuthSessions } from '../../api/auth-sessions.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { notify } from '../../ui/notify.ts'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { useForm } from '../../ui/use-form.ts'

/** Empty again after each change. */
export function ChangePassword(props: { readonly email: string; readonly name: string }) {
  const [changes, setChanges] = useState(0)
  return <PasswordForm key={changes} {...props} onChanged={() => setChanges(changes + 1)} />
}

function PasswordForm({
  email,
  name,
  onChanged,
}: {
  readonly email: string
  readonly name: string
  readonly onChanged: () => void
}) {
  const form = useForm(['current_password', 'new_password'], async (values) => {
    const [current, next] = [values.get('current_password'), values.get('new_password')]
    await changePassword(String(current), String(next))
    notify('Your password is changed', 'All other browsers are signed out.')
    onChanged()
    await refreshAuthSessions()
  })
  return (
    <form onSubmit={form.submit} className="max-w-sm space-y-4">
      <UsernameForManagers email={email} />
      <PasswordField
        label="Current password"
        name="current_password"
        autoComplete="current-password"
        required
        error={form.errorOf('current_password')}
      />
      <NewPasswordField
        label="New password"
        name="new_password"
        own={[name, email]}
        error={form.errorOf('new_password')}
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <Button type="submit" look="primary" busy={form.isBusy}>
        Change the password
      </Button>
    </form>
  )
}

/** Password managers keep a new password under the email that they find in the form. */
export function UsernameForManagers({ email }: { readonly email: string }) {
  return <input type="text" autoComplete="username" value={email} readOnly hidden />
}

import { useState } from 'react'
import { deleteAccount } from '../../api/auth.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { Trash2 } from '../../ui/icons.ts'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { useForm } from '../../ui/use-form.ts'
import { UsernameForManagers } from './ChangePassword.tsx'

/** Asks for the password. The server refuses, with all reasons, while something would be lost. */
export function DeleteAccount({ email }: { readonly email: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon={<Trash2 aria-hidden />} className="text-bad" onClick={() => setOpen(true)}>
        Delete your account
      </Button>
      <Dialog
        open={isOpen}
        onOpenChange={setOpen}
        title="Delete your account"
        description="All your browsers are signed out, and the API keys that you made stop working. It cannot be undone."
      >
        <DeleteForm email={email} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function DeleteForm({ email, onClose }: { readonly email: string; readonly onClose: () => void }) {
  const form = useForm(['password'], (values) => deleteAccount(String(values.get('password'))))
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <UsernameForManagers email={email} />
      <PasswordField
        label="Password"
        name="password"
        autoComplete="current-password"
        required
        error={form.errorOf('password')}
        autoFocus
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="danger" busy={form.isBusy}>
          Delete
        </Button>
      </DialogButtons>
    </form>
  )
}

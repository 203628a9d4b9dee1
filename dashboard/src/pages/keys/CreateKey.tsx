import type { ApiKeyScope, CreatedApiKey } from '@computer/sdk'
import { apiKeyScopes, limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { createApiKey } from '../../api/api-keys.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useForm } from '../../ui/use-form.ts'
import { Expiry, expiryDate, type ExpiryChoice } from './Expiry.tsx'
import { NewKey } from './NewKey.tsx'
import { ScopeFields } from './ScopeFields.tsx'

/** Makes a key, and shows its secret once. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const [created, setCreated] = useState<CreatedApiKey>()
  // One dialog for both, so that the focus returns to the button that opened it.
  return created ? (
    <Dialog
      open
      wide
      sticky
      onOpenChange={onClose}
      title={`The key ${created.name}`}
      description="Copy it now: it is not shown again. Whoever has it can act with it."
    >
      <NewKey secret={created.secret} onClose={onClose} />
    </Dialog>
  ) : (
    <Dialog
      open
      wide
      onOpenChange={onClose}
      title="Create an API key"
      description="It acts with your permissions, as far as its scopes allow. If you lose one, it does too."
    >
      <CreateForm onCreated={setCreated} onClose={onClose} />
    </Dialog>
  )
}

function CreateForm({
  onCreated,
  onClose,
}: {
  readonly onCreated: (key: CreatedApiKey) => void
  readonly onClose: () => void
}) {
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>(apiKeyScopes)
  const [expiry, setExpiry] = useState<ExpiryChoice>('90')
  const [day, setDay] = useState('')
  const form = useForm(['name', 'expires_at'], async (values) => {
    const expiresAt = expiryDate(expiry, day)
    onCreated(await createApiKey({ name: String(values.get('name')).trim(), scopes, expiresAt }))
  })
  return (
    <form onSubmit={form.submit} className="space-y-5">
      <TextField
        label="Name"
        name="name"
        hint="What it is for, such as the program that uses it."
        required
        maxLength={limits.apiKeyName.maxLength}
        error={form.errorOf('name')}
        autoComplete="off"
        autoFocus
      />
      <ScopeFields scopes={scopes} onChange={setScopes} />
      <Expiry
        choice={expiry}
        onChoice={setExpiry}
        day={day}
        onDay={setDay}
        error={form.errorOf('expires_at')}
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={form.isBusy}
          disabledReason={scopes.length === 0 && 'Choose at least one scope.'}
        >
          Create
        </Button>
      </DialogButtons>
    </form>
  )
}

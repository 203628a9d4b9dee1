import { useState, type ReactNode } from 'react'
import { Button } from '../../ui/Button.tsx'
import { DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useForm, type FormState } from '../../ui/use-form.ts'
import { TypeFields } from './TypeFields.tsx'
import { choiceOf, typesOf } from './webhook-types.ts'

type Fields = { readonly url: string; readonly types: readonly string[] | null }

/** The fields of a webhook that can be chosen when it is made and later. */
export function WebhookForm({
  url,
  types = null,
  action,
  onSubmit,
  onClose,
  children,
}: {
  readonly url?: string
  readonly types?: readonly string[] | null
  readonly action: string
  readonly onSubmit: (fields: Fields) => Promise<void>
  readonly onClose: () => void
  /** Fields of one of the two alone. */
  readonly children?: (form: FormState) => ReactNode
}) {
  const [choice, setChoice] = useState(() => choiceOf(types))
  const chosen = typesOf(choice)
  const form = useForm(['url', 'types', 'machine_id'], (values) =>
    onSubmit({ url: String(values.get('url')).trim(), types: chosen }),
  )
  return (
    <form onSubmit={form.submit} className="space-y-5">
      <TextField
        label="Address"
        name="url"
        type="url"
        required
        defaultValue={url}
        placeholder="https://example.com/hook"
        hint="It begins with https:// and does not lead into a private network."
        error={form.errorOf('url')}
        autoComplete="off"
        spellCheck={false}
        autoFocus
      />
      {children?.(form)}
      <TypeFields choice={choice} onChange={setChoice} error={form.errorOf('types')} />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={form.isBusy}
          disabledReason={chosen?.length === 0 && 'Choose at least one type.'}
        >
          {action}
        </Button>
      </DialogButtons>
    </form>
  )
}

import type { MachineRecord } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useState, type ClipboardEvent, type ReactNode } from 'react'
import { storeSecret } from '../../../api/secrets.ts'
import { Button } from '../../../ui/Button.tsx'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextArea, TextField } from '../../../ui/Field.tsx'
import { useForm } from '../../../ui/use-form.ts'
import { faultOf } from './parse-secrets.ts'

/** The name and the value of one secret. Lines of `KEY=value` that are pasted as the name are taken apart. */
export function StoreOne({
  machine,
  name: fixedName,
  onLines,
  onClose,
  children,
}: {
  readonly machine: MachineRecord
  readonly name: string | undefined
  readonly onLines: (text: string) => void
  readonly onClose: () => void
  /** Another way to do this. */
  readonly children: ReactNode
}) {
  const [name, setName] = useState(fixedName ?? '')
  const [value, setValue] = useState('')
  const [isShown, setShown] = useState(false)
  const form = useForm(['name', 'value'], async () => {
    await storeSecret(machine.id, name, value)
    onClose()
  })
  const pasteName = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData('text')
    if (!text.includes('=')) return
    event.preventDefault()
    onLines(text)
  }
  const fault = name === '' && value === '' ? 'Type a name first.' : faultOf({ name, value })
  return (
    <form onSubmit={form.submit} className="space-y-3">
      {fixedName === undefined && (
        <TextField
          label="Name"
          name="name"
          required
          value={name}
          onValueChange={setName}
          onPaste={pasteName}
          maxLength={limits.secretName.maxLength}
          error={form.errorOf('name')}
          hint="The environment variable, such as API_TOKEN: upper-case letters, digits and _."
          placeholder="API_TOKEN"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          autoFocus
        />
      )}
      <div className={isShown ? undefined : '[&_textarea]:[-webkit-text-security:disc]'}>
        <TextArea
          label="Value"
          name="value"
          rows={3}
          mono
          value={value}
          onValueChange={setValue}
          error={form.errorOf('value')}
          hint="Any text up to 64 KB, line ends included."
          autoComplete="off"
          spellCheck={false}
          autoFocus={fixedName !== undefined}
        />
      </div>
      <Checkbox label="Show what I type" checked={isShown} onChange={setShown} />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        {children}
        <span className="flex-1" />
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.isBusy} disabledReason={fault}>
          {fixedName === undefined ? 'Store' : 'Replace'}
        </Button>
      </DialogButtons>
    </form>
  )
}

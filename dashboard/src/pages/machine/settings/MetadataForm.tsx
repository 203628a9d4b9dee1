import type { MachineRecord } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { updateMachine } from '../../../api/machine-actions.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { Plus, X } from '../../../ui/icons.ts'
import { notify } from '../../../ui/notify.ts'
import { useForm } from '../../../ui/use-form.ts'
import { emptyRow, faultOf, rowsOf, toMetadata, type MetadataRow } from './metadata-rows.ts'

/** The metadata as rows. They follow the server until somebody edits them. */
export function MetadataForm({ machine }: { readonly machine: MachineRecord }) {
  const denied = useDenial('machines:control')
  const [edited, setEdited] = useState<readonly MetadataRow[]>()
  const rows = edited ?? rowsOf(machine.metadata)
  const form = useForm([], async () => {
    await updateMachine(machine, { metadata: toMetadata(rows) })
    setEdited(undefined)
    notify('The metadata is saved')
  })
  const change = (index: number, next: Partial<MetadataRow>) =>
    setEdited(rows.map((row, at) => (at === index ? { ...row, ...next } : row)))
  const isFull = rows.length >= limits.metadata.maxKeys
  return (
    <form onSubmit={form.submit} className="space-y-3">
      {rows.length === 0 && <p className="text-muted">None yet.</p>}
      <ul className="space-y-2">
        {rows.map((row, index) => (
          <li key={row.id} className="flex items-start gap-2">
            <div className="grid min-w-0 flex-1 gap-2 sm:grid-cols-[2fr_3fr]">
              <TextField
                label={`Key ${index + 1}`}
                hideLabel
                name={`key-${row.id}`}
                placeholder="key"
                value={row.key}
                onValueChange={(key) => change(index, { key })}
                maxLength={limits.metadata.key.maxLength}
                error={faultOf(row, rows)}
                autoComplete="off"
                autoFocus={edited !== undefined && row.key === '' && index === rows.length - 1}
              />
              <TextField
                label={`Value ${index + 1}`}
                hideLabel
                name={`value-${row.id}`}
                placeholder="value"
                value={row.value}
                onValueChange={(value) => change(index, { value })}
                maxLength={limits.metadata.value.maxLength}
                autoComplete="off"
              />
            </div>
            <Button
              look="ghost"
              label={`Remove ${row.key || `row ${index + 1}`}`}
              icon={<X aria-hidden />}
              disabledReason={denied}
              onClick={() => setEdited(rows.filter((_, at) => at !== index))}
            />
          </li>
        ))}
      </ul>
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <div className="flex flex-wrap gap-2">
        <Button
          icon={<Plus aria-hidden />}
          disabledReason={
            denied ?? (isFull && `A machine has at most ${limits.metadata.maxKeys} keys.`)
          }
          onClick={() => setEdited([...rows, emptyRow()])}
        >
          Add a key
        </Button>
        <Button
          type="submit"
          look={edited ? 'primary' : 'secondary'}
          busy={form.isBusy}
          disabledReason={
            denied ??
            (!edited
              ? 'Nothing is changed.'
              : rows.some((row) => faultOf(row, rows)) && 'Correct the keys first.')
          }
        >
          Save
        </Button>
        {edited && <Button onClick={() => setEdited(undefined)}>Discard</Button>}
      </div>
    </form>
  )
}

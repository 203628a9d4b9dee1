import type { MachineRecord } from '@computer/sdk'
import { useState } from 'react'
import { updateMachine } from '../../../api/machine-actions.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { notify } from '../../../ui/notify.ts'
import { useForm } from '../../../ui/use-form.ts'
import { stateWords } from '../../../words.ts'
import { formatSize } from '../../sizes/format-size.ts'
import { SizeSelect } from '../../sizes/SizeSelect.tsx'

/** Another size for a stopped machine. Its disk only grows, which the server enforces. */
export function SizeForm({ machine }: { readonly machine: MachineRecord }) {
  const { name, state, size } = machine
  const denied = useDenial('machines:control')
  const [chosen, setChosen] = useState(size)
  const form = useForm([], async () => {
    await updateMachine(machine, { size: chosen })
    notify(`${name} is ${chosen} now`)
  })
  return (
    <form onSubmit={form.submit} className="space-y-3">
      <SizeSelect
        hideLabel
        value={chosen}
        onChange={setChosen}
        className="max-w-64"
        hint={`Now ${size}: ${formatSize(machine)}. A disk can grow but never shrink.`}
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <Button
        type="submit"
        busy={form.isBusy}
        disabledReason={
          denied ??
          (state !== 'stopped'
            ? `${name} is ${stateWords[state].toLowerCase()}. Only a stopped machine can change its size.`
            : chosen === size && 'Choose another size first.')
        }
      >
        Change the size
      </Button>
    </form>
  )
}

import type { MachineRecord } from '@computer/sdk'
import { machineSizes } from '@computer/sdk/tables'
import { useState } from 'react'
import { updateMachine } from '../../../api/machine-actions.ts'
import { useDenial } from '../../../api/session.ts'
import { formatMemory, formatNumber } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { notify } from '../../../ui/notify.ts'
import { Select } from '../../../ui/Select.tsx'
import { useForm } from '../../../ui/use-form.ts'
import { stateWords } from '../../../words.ts'

/** Another size for a stopped machine. Its disk only grows, which the server enforces. */
export function SizeForm({ machine }: { readonly machine: MachineRecord }) {
  const { name, state, size, cpu, memoryMb, diskGb } = machine
  const denied = useDenial('machines:control')
  const [chosen, setChosen] = useState(size)
  const form = useForm([], async () => {
    await updateMachine(machine, { size: chosen })
    notify(`${name} is ${chosen} now`)
  })
  const numbers = `${formatNumber(cpu)} vCPU · ${formatMemory(memoryMb)} memory · ${formatNumber(diskGb)} GB disk`
  return (
    <form onSubmit={form.submit} className="space-y-3">
      <Select
        label="Size"
        hideLabel
        value={chosen}
        onChange={setChosen}
        className="max-w-64"
        choices={machineSizes.map((value) => ({
          value,
          label: value,
          ...(value === size && { detail: `Now: ${numbers}` }),
        }))}
        hint={`Now ${size}: ${numbers}. A disk can grow but never shrink.`}
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

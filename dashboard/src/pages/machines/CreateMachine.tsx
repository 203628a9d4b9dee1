import type { MachineSize } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createMachine } from '../../api/machine-actions.ts'
import { templatesQuery } from '../../api/templates.ts'
import { Button } from '../../ui/Button.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useForm } from '../../ui/use-form.ts'
import { Cost } from '../sizes/Cost.tsx'
import { SizeSelect } from '../sizes/SizeSelect.tsx'
import { TemplateSelect } from './TemplateSelect.tsx'

/** `template`: the size that the template names. */
type SizeChoice = MachineSize | 'template'

/** Creates a machine; every field may stay as it is. Then its page opens. */
export function CreateMachine({
  template,
  onClose,
}: {
  readonly template: string | undefined
  readonly onClose: () => void
}) {
  return (
    <Dialog open onOpenChange={onClose} title="Create a machine">
      <CreateForm template={template} onClose={onClose} />
    </Dialog>
  )
}

function CreateForm({
  template: given,
  onClose,
}: {
  readonly template: string | undefined
  readonly onClose: () => void
}) {
  const navigate = useNavigate()
  const [template, setTemplate] = useState(given)
  const [size, setSize] = useState<SizeChoice>(given ? 'template' : 'small')
  const [start, setStart] = useState(true)
  const templates = useInfiniteQuery(templatesQuery).data?.pages.flatMap(({ data }) => data)
  const sizeOfTemplate = templates?.find(({ id }) => id === template)?.size
  const costOf = size === 'template' ? sizeOfTemplate : size
  const form = useForm(['name', 'size', 'template', 'region'], async (values) => {
    const name = String(values.get('name')).trim()
    const region = String(values.get('region')).trim()
    const machine = await createMachine({
      start,
      ...(size !== 'template' && { size }),
      ...(name && { name }),
      ...(region && { region }),
      ...(template && { template }),
    })
    await navigate({ to: '/m/$machineId', params: { machineId: machine.id } })
  })
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <TextField
        label="Name"
        name="name"
        maxLength={limits.machineName.maxLength}
        pattern={limits.machineName.pattern}
        error={form.errorOf('name')}
        hint="Lower-case letters, digits and hyphens. Left empty, the server chooses one."
        autoComplete="off"
        autoFocus
      />
      <TemplateSelect
        label="Template"
        none="None: an empty machine"
        value={template}
        onChange={(next) => {
          setTemplate(next?.id)
          if (next) setSize('template')
          else if (size === 'template') setSize('small')
        }}
      />
      <div className="space-y-1.5">
        <SizeSelect<'template'>
          value={size}
          onChange={setSize}
          others={
            template
              ? [{ value: 'template', label: 'The size of the template', detail: sizeOfTemplate }]
              : []
          }
        />
        {costOf && <Cost size={costOf} />}
      </div>
      <TextField
        label="Region"
        name="region"
        error={form.errorOf('region')}
        hint="A hint for where it is placed. Left empty, the server chooses."
        autoComplete="off"
      />
      <Checkbox
        label="Start it"
        checked={start}
        onChange={setStart}
        hint="A stopped machine counts as storage, not as compute."
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.isBusy}>
          Create
        </Button>
      </DialogButtons>
    </form>
  )
}

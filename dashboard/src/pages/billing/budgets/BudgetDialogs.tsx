import type { Budget } from '@computer/sdk'
import { budgetActions, budgetLimitTypes, budgetWindows, limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { createBudget, updateBudget } from '../../../api/budgets.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { Select } from '../../../ui/Select.tsx'
import { useForm, type FormState } from '../../../ui/use-form.ts'
import { actionWords, limitText, limitWords, readLimit, windowWords } from './budget-words.ts'
import { ScopeFields, readScope, type ScopeChoice } from './ScopeFields.tsx'

const fields = ['name', 'limit.value', 'thresholds', 'scope.label.key', 'scope.label']

export function NewBudget({ onClose }: { readonly onClose: () => void }) {
  const [scope, setScope] = useState<ScopeChoice>('organization')
  const [type, setType] = useState<Budget['limit']['type']>('list_price_cents')
  const [window, setWindow] = useState<Budget['window']>('month')
  const [action, setAction] = useState<Budget['action']>('notify')
  const form = useForm(fields, async (values) => {
    await createBudget({
      ...readCommon(type, values),
      scope: readScope(scope, String(values.get('value') ?? '')),
      window,
      action,
    })
    onClose()
  })
  return (
    <Dialog open onOpenChange={onClose} title="New budget">
      <form onSubmit={form.submit} className="space-y-3">
        <NameField form={form} />
        <ScopeFields form={form} scope={scope} onChange={setScope} />
        <Select
          label="Limit by"
          value={type}
          onChange={setType}
          choices={budgetLimitTypes.map((value) => ({ value, label: limitWords[value] }))}
        />
        <LimitField form={form} type={type} />
        <Select
          label="Counts"
          value={window}
          onChange={setWindow}
          hint="In UTC. What was used in the window before counts too."
          choices={budgetWindows.map((value) => ({ value, label: windowWords[value] }))}
        />
        <ActionFields form={form} action={action} onChange={setAction} />
        <Buttons form={form} action="Create the budget" onClose={onClose} />
      </form>
    </Dialog>
  )
}

export function EditBudget({
  budget,
  onClose,
}: {
  readonly budget: Budget
  readonly onClose: () => void
}) {
  const [action, setAction] = useState(budget.action)
  const { type } = budget.limit
  const form = useForm(fields, async (values) => {
    await updateBudget(budget.id, { ...readCommon(type, values), action })
    onClose()
  })
  return (
    <Dialog open onOpenChange={onClose} title={`Edit the budget “${budget.name}”`}>
      <form onSubmit={form.submit} className="space-y-3">
        <NameField form={form} name={budget.name} />
        <LimitField form={form} type={type} text={limitText(budget.limit)} />
        <ActionFields
          form={form}
          action={action}
          onChange={setAction}
          thresholds={budget.thresholds}
        />
        <Buttons form={form} action="Save" onClose={onClose} />
      </form>
    </Dialog>
  )
}

type Form = { readonly form: FormState }

function NameField({ form, name }: Form & { readonly name?: string }) {
  return (
    <TextField
      label="Name"
      name="name"
      required
      defaultValue={name}
      maxLength={limits.budgetName.maxLength}
      error={form.errorOf('name')}
      autoComplete="off"
      autoFocus
    />
  )
}

function LimitField({
  form,
  type,
  text,
}: Form & { readonly type: Budget['limit']['type']; readonly text?: string }) {
  return (
    <TextField
      label={type === 'standard_hours' ? 'Standard-hours' : 'Amount'}
      name="limit"
      required
      inputMode="decimal"
      defaultValue={text}
      placeholder={type === 'standard_hours' ? '10' : '10.00'}
      error={form.errorOf('limit.value')}
      hint={
        type === 'standard_hours'
          ? 'Hours of a machine of the size standard; others count by their weight.'
          : 'What the use costs at list price, as if the plan included none.'
      }
      autoComplete="off"
    />
  )
}

function ActionFields({
  form,
  action,
  onChange,
  thresholds = [80, 100],
}: Form & {
  readonly action: Budget['action']
  readonly onChange: (action: Budget['action']) => void
  readonly thresholds?: readonly number[]
}) {
  return (
    <>
      <Select
        label="When nothing is left"
        value={action}
        onChange={onChange}
        choices={budgetActions.map((value) => ({ value, label: actionWords[value] }))}
      />
      <TextField
        label="Mail at percent"
        name="thresholds"
        defaultValue={thresholds.join(', ')}
        error={form.errorOf('thresholds')}
        hint="The owners get a mail at each, once in a window."
        autoComplete="off"
      />
    </>
  )
}

function Buttons({
  form,
  action,
  onClose,
}: Form & { readonly action: string; readonly onClose: () => void }) {
  return (
    <>
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.isBusy}>
          {action}
        </Button>
      </DialogButtons>
    </>
  )
}

function readCommon(type: Budget['limit']['type'], values: FormData) {
  const percents = String(values.get('thresholds')).split(/[,\s]+/)
  return {
    name: String(values.get('name')).trim(),
    limit: readLimit(type, String(values.get('limit'))),
    thresholds: percents.filter((text) => text !== '').map(Number),
  }
}

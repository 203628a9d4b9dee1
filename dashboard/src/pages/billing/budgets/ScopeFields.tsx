import type { BudgetScope } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { scopeChoicesQuery } from '../../../api/budgets.ts'
import { TextField } from '../../../ui/Field.tsx'
import { Select } from '../../../ui/Select.tsx'
import type { FormState } from '../../../ui/use-form.ts'

/** `organization`, `machine:ID`, `key:ID` or `label:KEY`. */
export type ScopeChoice = string

/** The fields for the scope of a budget, and for the value of a label. */
export function ScopeFields({
  form,
  scope,
  onChange,
}: {
  readonly form: FormState
  readonly scope: ScopeChoice
  readonly onChange: (scope: ScopeChoice) => void
}) {
  const { data } = useQuery(scopeChoicesQuery)
  const choices = [
    { value: 'organization', label: 'Everything', detail: 'All that the organization uses' },
    ...(data?.labelKeys ?? []).map((key) => ({
      value: `label:${key}`,
      label: `Label ${key}`,
      detail: 'Machines with one value of it',
    })),
    ...(data?.keys ?? []).map(({ id, name }) => ({
      value: `key:${id}`,
      label: name,
      detail: 'API key: what it starts and creates',
    })),
    ...(data?.machines ?? []).map(({ id, name }) => ({
      value: `machine:${id}`,
      label: name,
      detail: 'Machine',
    })),
  ]
  return (
    <>
      <Select label="For" value={scope} onChange={onChange} choices={choices} />
      {scope.startsWith('label:') && (
        <TextField
          label={`Value of ${scope.slice('label:'.length)}`}
          name="value"
          required
          error={form.errorOf('scope.label') ?? form.errorOf('scope.label.key')}
          autoComplete="off"
        />
      )}
    </>
  )
}

export function readScope(choice: ScopeChoice, value: string): BudgetScope {
  const [type, ...rest] = choice.split(':')
  const name = rest.join(':')
  if (type === 'machine') return { type: 'machine', machineId: name }
  if (type === 'key') return { type: 'api_key', apiKeyId: name }
  if (type === 'label') return { type: 'label', label: { key: name, value } }
  return { type: 'organization' }
}

import type { Template } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { templatesQuery } from '../../api/templates.ts'
import { Select } from '../../ui/Select.tsx'

const nothing = 'none'

/** A choice of one template, or of none. A template that is still building or has failed cannot be chosen. */
export function TemplateSelect({
  value,
  onChange,
  label,
  none,
  hideLabel,
}: {
  /** The id of a template. Undefined: none. */
  readonly value: string | undefined
  readonly onChange: (template: Template | undefined) => void
  readonly label: string
  /** The words for no template. */
  readonly none: string
  readonly hideLabel?: boolean
}) {
  const { data } = useInfiniteQuery(templatesQuery)
  const templates = data?.pages.flatMap((page) => page.data) ?? []
  const isKnown = templates.some(({ id }) => id === value)
  return (
    <Select
      label={label}
      hideLabel={hideLabel}
      value={value ?? nothing}
      onChange={(id) => onChange(templates.find((template) => template.id === id))}
      choices={[
        { value: nothing, label: none },
        ...templates.map(({ id, name, description, state }) => ({
          value: id,
          label: name,
          detail: state === 'ready' ? description : `It is ${state}`,
          disabled: state !== 'ready',
        })),
        // Its list is still being read, or the template was deleted.
        ...(value === undefined || isKnown ? [] : [{ value, label: data ? value : '…' }]),
      ]}
    />
  )
}

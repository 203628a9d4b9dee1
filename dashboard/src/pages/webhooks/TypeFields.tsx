import { Checkbox } from '../../ui/Checkbox.tsx'
import { TextField } from '../../ui/Field.tsx'
import { RadioCards } from '../../ui/RadioCards.tsx'
import { typeGroups, type TypeChoice } from './webhook-types.ts'

/** A webhook sends everything, or the types that the person chooses. */
export function TypeFields({
  choice,
  onChange,
  error,
}: {
  readonly choice: TypeChoice
  readonly onChange: (choice: TypeChoice) => void
  readonly error: string | undefined
}) {
  const { isAll, chosen, other } = choice
  const set = (type: string, isChecked: boolean) =>
    onChange({
      ...choice,
      chosen: isChecked ? [...chosen, type] : chosen.filter((one) => one !== type),
    })
  return (
    <div className="space-y-3">
      <RadioCards
        label="Sends"
        name="sends"
        value={isAll ? 'all' : 'chosen'}
        onChange={(value) => onChange({ ...choice, isAll: value === 'all' })}
        choices={[
          { value: 'all', label: 'Everything', detail: 'Also of types that are added later.' },
          { value: 'chosen', label: 'Only some types' },
        ]}
        error={error}
      />
      {!isAll && (
        <>
          <div className="grid gap-x-6 gap-y-4 sm:grid-cols-2">
            {typeGroups.map(({ title, types }) => (
              <div key={title} role="group" aria-label={title} className="space-y-1.5">
                <p className="text-xs font-medium text-muted">{title}</p>
                {types.map((type) => (
                  <Checkbox
                    key={type}
                    label={<code className="text-[13px]">{type}</code>}
                    checked={chosen.includes(type)}
                    onChange={(isChecked) => set(type, isChecked)}
                  />
                ))}
              </div>
            ))}
          </div>
          <TextField
            label="Other types"
            name="other"
            value={other}
            onValueChange={(text) => onChange({ ...choice, other: text })}
            hint="Separated by spaces."
            autoComplete="off"
            spellCheck={false}
          />
        </>
      )}
    </div>
  )
}

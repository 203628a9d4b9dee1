import { TextField } from '../../ui/Field.tsx'
import { Select } from '../../ui/Select.tsx'
import { useNow } from '../../ui/Time.tsx'

const dayMs = 86_400_000
const choices = [
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'day', label: 'After a day of your choice' },
  { value: 'never', label: 'Never' },
] as const
export type ExpiryChoice = (typeof choices)[number]['value']

/** When a key ends by itself. */
export function Expiry({
  choice,
  onChoice,
  day,
  onDay,
  error,
}: {
  readonly choice: ExpiryChoice
  readonly onChoice: (choice: ExpiryChoice) => void
  /** A date such as 2030-01-31, for the choice of a day. */
  readonly day: string
  readonly onDay: (day: string) => void
  readonly error: string | undefined
}) {
  const today = localDay(new Date(useNow()))
  return (
    <div className="flex flex-wrap items-start gap-3">
      <Select
        label="Ends"
        value={choice}
        onChange={onChoice}
        choices={choices}
        hint={error && <span className="text-bad">{error}</span>}
        className="w-56"
      />
      {choice === 'day' && (
        <TextField
          label="Last day"
          name="day"
          type="date"
          required
          min={today}
          value={day}
          onValueChange={onDay}
        />
      )}
    </div>
  )
}

/** The moment of a choice; a day ends at midnight of this browser's time zone. */
export function expiryDate(choice: ExpiryChoice, day: string): string | undefined {
  if (choice === 'never') return undefined
  if (choice === 'day') return new Date(`${day}T23:59:59`).toISOString()
  return new Date(Date.now() + Number(choice) * dayMs).toISOString()
}

function localDay(date: Date): string {
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part) => String(part).padStart(2, '0')).join('-')
}

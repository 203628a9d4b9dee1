import type { MachineRecord } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { useShownMachine } from '../../api/live.ts'
import { formatMemory } from '../../format.ts'
import { StateBadge } from '../../ui/Badge.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { cx } from '../../ui/cx.ts'
import { Age } from '../../ui/Time.tsx'
import { MachineMenu } from '../machine/MachineMenu.tsx'
import type { Selection } from './selection.ts'
import { Thumbnail } from './Thumbnail.tsx'

export function MachineCard({
  machine,
  selection,
}: {
  readonly machine: MachineRecord
  readonly selection: Selection
}) {
  const { id, name, state, size, cpu, memoryMb, createdAt } = machine
  useShownMachine(id)
  const isSelected = selection.ids.has(id)
  return (
    <li
      className={cx(
        'relative overflow-hidden rounded-xl border bg-raised transition-shadow hover:shadow-pop',
        isSelected ? 'border-accent-fg ring-1 ring-accent-fg' : 'border-line',
      )}
    >
      <Thumbnail machine={machine} />
      <div className="space-y-1 p-3">
        <div className="flex items-center gap-2">
          <Link
            to="/m/$machineId"
            params={{ machineId: id }}
            data-row={id}
            className="min-w-0 flex-1 truncate font-medium outline-none before:absolute before:inset-0 before:rounded-xl focus-visible:before:outline-2 focus-visible:before:outline-accent-fg"
          >
            {name}
          </Link>
          <StateBadge state={state} />
        </div>
        <div className="flex items-center justify-between gap-2 text-xs text-muted">
          <span className="truncate">
            {size} · {cpu} vCPU · {formatMemory(memoryMb)} · <Age since={createdAt} /> old
          </span>
          <span className="relative flex items-center gap-1">
            <Checkbox
              label={`Select ${name}`}
              hideLabel
              checked={isSelected}
              onChange={() => selection.toggle(id)}
            />
            <MachineMenu machine={machine} />
          </span>
        </div>
      </div>
    </li>
  )
}

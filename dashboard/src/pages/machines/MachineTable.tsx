import type { MachineRecord } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { useShownMachine } from '../../api/live.ts'
import { formatMemory } from '../../format.ts'
import { StateBadge } from '../../ui/Badge.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { cx } from '../../ui/cx.ts'
import { Age } from '../../ui/Time.tsx'
import { MachineMenu } from '../machine/MachineMenu.tsx'
import { useRates } from '../sizes/rates.ts'
import type { Selection } from './selection.ts'

const rowHeight = 44
const columns = ['Name', 'State', 'Size', 'An hour', 'Region', 'Age', ''] as const

/** All machines of the filter. Only the rows that can be seen are in the page, however many there are. */
export function MachineTable({
  machines,
  selection,
  onEnd,
}: {
  readonly machines: readonly MachineRecord[]
  readonly selection: Selection
  /** The last rows come into view. */
  readonly onEnd: () => void
}) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [offset, setOffset] = useState(0)
  const rates = useRates()
  const rows = useVirtualizer({
    count: machines.length,
    getScrollElement: () => document.getElementById('content'),
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => machines[index]!.id,
  })
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    const content = document.getElementById('content')!
    setOffset(
      body.current!.getBoundingClientRect().top -
        content.getBoundingClientRect().top +
        content.scrollTop,
    )
  }, [])
  useEffect(() => {
    if (last >= machines.length - 20) onEnd()
  }, [last, machines.length, onEnd])
  const before = (shown[0]?.start ?? offset) - offset
  const after = rows.getTotalSize() - ((shown.at(-1)?.end ?? offset) - offset)
  const selected = machines.filter(({ id }) => selection.ids.has(id)).length
  return (
    <div className="rounded-lg border border-line bg-raised">
      <table aria-rowcount={machines.length + 1} className="w-full table-fixed border-collapse">
        <thead>
          <tr aria-rowindex={1} className="border-b border-line text-left text-xs text-muted">
            <th scope="col" className="w-10 px-3">
              <Checkbox
                label="Select all that are loaded"
                hideLabel
                checked={selected > 0 && selected === machines.length}
                partly={selected > 0 && selected < machines.length}
                onChange={() => selection.toggleAll(machines)}
              />
            </th>
            {columns.map((column) => (
              <th key={column} scope="col" className={cx('px-2 py-2 font-medium', widths[column])}>
                {column || <span className="sr-only">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Gap height={before} />
          {shown.map(({ index, key }) => (
            <MachineRow
              key={key}
              machine={machines[index]!}
              rate={rates.get(machines[index]!.size)}
              index={index}
              selection={selection}
            />
          ))}
          <Gap height={after} />
        </tbody>
      </table>
    </div>
  )
}

/** A phone has room for the name, the state and the menu. */
const widths: Readonly<Record<(typeof columns)[number], string>> = {
  Name: '',
  State: 'w-28',
  Size: 'w-64 hidden md:table-cell',
  'An hour': 'w-24 hidden lg:table-cell',
  Region: 'w-28 hidden xl:table-cell',
  Age: 'w-28 hidden sm:table-cell',
  '': 'w-12',
}

function MachineRow({
  machine,
  rate,
  index,
  selection,
}: {
  readonly machine: MachineRecord
  /** What an hour of its size costs. */
  readonly rate: string | undefined
  readonly index: number
  readonly selection: Selection
}) {
  const { id, name, state, size, cpu, memoryMb, diskGb, region, createdAt } = machine
  useShownMachine(id)
  const isSelected = selection.ids.has(id)
  return (
    <tr
      aria-rowindex={index + 2}
      style={{ height: rowHeight }}
      className={cx('border-b border-line', isSelected ? 'bg-accent-soft' : 'hover:bg-hover/60')}
    >
      <td className="px-3">
        <Checkbox
          label={`Select ${name}`}
          hideLabel
          checked={isSelected}
          onChange={() => selection.toggle(id)}
        />
      </td>
      <td className="truncate px-2">
        <Link
          to="/m/$machineId"
          params={{ machineId: id }}
          data-row={id}
          className="font-medium hover:underline"
        >
          {name}
        </Link>
      </td>
      <td className="px-2">
        <StateBadge state={state} />
      </td>
      <td className={cx('truncate px-2 text-muted', widths.Size)}>
        {size} · {cpu} vCPU · {formatMemory(memoryMb)} · {diskGb} GB
      </td>
      <td className={cx('px-2 text-muted tabular-nums', widths['An hour'])}>
        {state === 'running' ? (rate ?? '') : ''}
      </td>
      <td className={cx('truncate px-2 text-muted', widths.Region)}>{region}</td>
      <td className={cx('px-2 text-muted', widths.Age)}>
        <Age since={createdAt} />
      </td>
      <td className="px-1 text-right">
        <MachineMenu machine={machine} />
      </td>
    </tr>
  )
}

/** The height of the rows that are not in the page. */
function Gap({ height }: { readonly height: number }) {
  if (height <= 0) return null
  return (
    <tr aria-hidden>
      <td colSpan={columns.length + 1} style={{ height }} />
    </tr>
  )
}

import type { DirectoryEntry } from '@computer/sdk'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState, type RefObject } from 'react'
import { cx } from '../../../ui/cx.ts'
import type { Asked } from './FileDialogs.tsx'
import { FileRow, rowHeight, widths } from './FileRow.tsx'

const columns = ['Name', 'Size', 'Changed', 'Owner', 'Actions'] as const

/** The entries of a folder. Only the rows that can be seen are in the page. */
export function FileTable({
  machineId,
  entries,
  hasMore,
  wanted,
  onEnd,
  onOpen,
  onAsk,
}: {
  readonly machineId: string
  readonly entries: readonly DirectoryEntry[]
  readonly hasMore: boolean
  /** The name of the row that gets the focus; empty means the first. */
  readonly wanted: RefObject<string | undefined>
  /** The last rows come into view. */
  readonly onEnd: () => void
  readonly onOpen: (entry: DirectoryEntry) => void
  readonly onAsk: (asked: Asked) => void
}) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [offset, setOffset] = useState(0)
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => document.getElementById('content'),
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: offset,
  })
  useEffect(() => {
    const content = document.getElementById('content')!
    const { top } = body.current!.getBoundingClientRect()
    setOffset(top - content.getBoundingClientRect().top + content.scrollTop)
  }, [])
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= entries.length - 20) onEnd()
  }, [last, entries.length, onEnd])
  useEffect(() => {
    const name = wanted.current
    if (name === undefined) return
    wanted.current = undefined
    const index = Math.max(
      0,
      entries.findIndex((entry) => entry.name === name),
    )
    if (index > 0) rows.scrollToIndex(index, { align: 'center' })
    requestAnimationFrame(() =>
      body.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)?.focus(),
    )
  }, [entries, rows, wanted])
  const before = (shown[0]?.start ?? offset) - offset
  const after = rows.getTotalSize() - ((shown.at(-1)?.end ?? offset) - offset)
  return (
    <div className="rounded-lg border border-line bg-raised">
      <table
        aria-label="Files"
        aria-rowcount={hasMore ? -1 : entries.length + 1}
        className="w-full table-fixed border-collapse"
      >
        <thead>
          <tr aria-rowindex={1} className="border-b border-line text-left text-xs text-muted">
            {columns.map((column) => (
              <th key={column} scope="col" className={cx('px-3 py-2 font-medium', widths[column])}>
                {column === 'Actions' ? <span className="sr-only">Actions</span> : column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Gap height={before} />
          {shown.map(({ index }) => (
            <FileRow
              key={entries[index]!.path ?? index}
              machineId={machineId}
              entry={entries[index]!}
              index={index}
              onEnter={() => (wanted.current = '')}
              onOpen={onOpen}
              onAsk={onAsk}
            />
          ))}
          <Gap height={after} />
        </tbody>
      </table>
    </div>
  )
}

/** The height of the rows that are not in the page. */
function Gap({ height }: { readonly height: number }) {
  if (height <= 0) return null
  return (
    <tr aria-hidden>
      <td colSpan={columns.length} style={{ height }} />
    </tr>
  )
}

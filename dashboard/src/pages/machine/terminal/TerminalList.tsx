import { Link } from '@tanstack/react-router'
import type { ReactNode, Ref } from 'react'
import { Badge } from '../../../ui/Badge.tsx'
import { Button } from '../../../ui/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { TerminalSquare, X } from '../../../ui/icons.ts'
import type { TerminalEntry } from './use-terminals.ts'

/** The terminals as links, so that each has an address. */
export function TerminalList({
  ref,
  machineId,
  entries,
  shownId,
  closeDenied,
  onClose,
  children,
}: {
  readonly ref: Ref<HTMLUListElement>
  readonly machineId: string
  readonly entries: readonly TerminalEntry[]
  readonly shownId: string | undefined
  readonly closeDenied: string | undefined
  readonly onClose: (entry: TerminalEntry) => void
  readonly children: ReactNode
}) {
  return (
    <nav
      aria-label="Terminals"
      className="flex items-center gap-2 border-b border-line px-2 py-1.5"
    >
      <ul ref={ref} className="flex min-w-0 flex-1 gap-1 overflow-x-auto p-0.5">
        {entries.map((entry) => (
          <li
            key={entry.id}
            className={cx(
              'flex shrink-0 items-center rounded-md border',
              entry.id === shownId ? 'border-line bg-raised' : 'border-transparent hover:bg-hover',
            )}
          >
            <Link
              to="/m/$machineId/terminal"
              params={{ machineId }}
              search={{ terminal: entry.id }}
              replace
              activeOptions={{ exact: true }}
              title={entry.title}
              className="flex h-7 items-center gap-1.5 rounded-md pl-2 text-[13px] data-[status=active]:font-medium"
            >
              <TerminalSquare className="size-3.5 text-muted" aria-hidden />
              <bdi className="max-w-40 truncate">{entry.title}</bdi>
              {entry.user === 'root' && <Badge tone="warn">root</Badge>}
              {entry.isOver && <Badge>ended</Badge>}
            </Link>
            <Button
              look="ghost"
              size="small"
              label={`Close ${entry.title}`}
              icon={<X />}
              disabledReason={!entry.isOver && closeDenied}
              onClick={() => onClose(entry)}
            />
          </li>
        ))}
      </ul>
      {children}
    </nav>
  )
}

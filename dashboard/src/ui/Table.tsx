import type { ReactNode } from 'react'
import { cx } from './cx.ts'

/** A table in a frame that scrolls sideways on a narrow screen, also by keyboard. */
export function Table({
  label,
  head,
  children,
}: {
  readonly label: string
  /** The texts of the columns' heads. An empty one is for a column of actions. */
  readonly head: readonly string[]
  readonly children: ReactNode
}) {
  return (
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      // Relative: texts for screen readers are positioned, and would widen the page otherwise.
      className="relative overflow-x-auto rounded-lg border border-line bg-raised"
    >
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="border-b border-line text-left text-xs text-muted">
            {head.map((text, column) => (
              <th key={column} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                {text || <span className="sr-only">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

export function Row({
  children,
  selected,
}: {
  readonly children: ReactNode
  readonly selected?: boolean | undefined
}) {
  return (
    <tr
      className={cx(
        'border-b border-line last:border-0',
        selected ? 'bg-accent-soft' : 'hover:bg-hover/50',
      )}
    >
      {children}
    </tr>
  )
}

export function Cell({
  children,
  className,
}: {
  readonly children: ReactNode
  readonly className?: string | undefined
}) {
  return <td className={cx('px-3 py-2 align-middle', className)}>{children}</td>
}

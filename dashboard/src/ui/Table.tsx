import { Children, createContext, useContext, type ReactNode } from 'react'
import { cx } from './cx.ts'

const Heads = createContext<readonly string[]>([])
const Head = createContext('')

/**
 * A table in a frame that scrolls sideways if it is too wide, also by keyboard. On a phone every row is a
 * list of its cells, each with the head of its column.
 */
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
      <table className="w-full border-collapse text-sm max-sm:block">
        <thead className="max-sm:sr-only">
          <tr className="border-b border-line text-left text-xs text-muted">
            {head.map((text, column) => (
              <th key={column} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                {text || <span className="sr-only">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          <Heads value={head}>{children}</Heads>
        </tbody>
      </table>
    </div>
  )
}

/** A row, whose cells are its children, in the order of the heads. */
export function Row({
  children,
  selected,
}: {
  readonly children: ReactNode
  readonly selected?: boolean | undefined
}) {
  const heads = useContext(Heads)
  return (
    <tr
      className={cx(
        'border-b border-line last:border-0 max-sm:block max-sm:py-2',
        selected ? 'bg-accent-soft' : 'hover:bg-hover/50',
      )}
    >
      {Children.map(children, (cell, column) => (
        <Head value={column === 0 ? '' : (heads[column] ?? '')}>{cell}</Head>
      ))}
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
  const head = useContext(Head) || undefined
  return (
    <td
      data-head={head}
      className={cx(
        'px-3 py-2 align-middle max-sm:block max-sm:max-w-full max-sm:py-1',
        head && 'max-sm:flex max-sm:gap-2 max-sm:text-left',
        head && 'max-sm:before:w-28 max-sm:before:shrink-0 max-sm:before:pt-0.5',
        head && 'max-sm:before:text-xs max-sm:before:text-muted',
        head && 'max-sm:before:content-[attr(data-head)]',
        className,
      )}
    >
      {head ? <div className="min-w-0 max-sm:flex-1">{children}</div> : children}
    </td>
  )
}

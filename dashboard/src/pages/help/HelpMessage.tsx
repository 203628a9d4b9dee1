import { useState } from 'react'
import { cx } from '../../ui/cx.ts'

/** Longer ones are shown in part, until the person asks for all. */
const shownCharacters = 280
const shownLines = 4

/** The words of an agent. They are a stranger's: plain text, never markup or links, and bounded. */
export function HelpMessage({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false)
  const isLong = text.length > shownCharacters || text.split('\n').length > shownLines
  return (
    <div>
      <p
        dir="auto"
        className={cx(
          'overflow-hidden font-medium whitespace-pre-wrap wrap-anywhere',
          isLong && !isOpen && 'line-clamp-4',
        )}
      >
        {text}
      </p>
      {isLong && (
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="text-[13px] font-medium text-accent-fg underline underline-offset-2"
        >
          {isOpen ? 'Show less' : 'Show all'}
        </button>
      )}
    </div>
  )
}

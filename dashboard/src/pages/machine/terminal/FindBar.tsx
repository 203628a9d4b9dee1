import { useEffect, useState, type KeyboardEvent } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { ChevronDown, ChevronUp, X } from '../../../ui/icons.ts'
import { searchColors } from './colors.ts'
import type { TerminalSession } from './session.ts'

/** Finds text in what the terminal still holds, newest first. */
export function FindBar({
  session,
  onClose,
}: {
  readonly session: TerminalSession
  readonly onClose: () => void
}) {
  const { search } = session.emulator
  const [text, setText] = useState('')
  const [found, setFound] = useState<{ readonly index: number; readonly count: number }>()
  useEffect(() => {
    const results = search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setFound({ index: resultIndex, count: resultCount }),
    )
    return () => {
      results.dispose()
      search.clearDecorations()
    }
  }, [search])
  const find = (next: string, direction: 'older' | 'newer') => {
    const options = { decorations: searchColors() }
    if (direction === 'older') search.findPrevious(next, options)
    else search.findNext(next, options)
  }
  const change = (next: string) => {
    setText(next)
    if (next !== '') return find(next, 'older')
    search.clearDecorations()
    setFound(undefined)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose()
    else if (event.key === 'Enter') find(text, event.shiftKey ? 'newer' : 'older')
    else return
    event.preventDefault()
  }
  return (
    <div role="search" className="flex items-center gap-1 border-b border-line bg-page px-2 py-1">
      <input
        aria-label="Find in the terminal"
        placeholder="Find"
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={onKeyDown}
        autoFocus
        className="h-7 w-full max-w-60 min-w-0 rounded-md border border-line-strong bg-raised px-2 text-sm"
      />
      <span role="status" className="min-w-16 px-1 text-xs text-muted">
        {found && describe(found)}
      </span>
      <Button
        look="ghost"
        size="small"
        label="Older"
        icon={<ChevronUp />}
        onClick={() => find(text, 'older')}
      />
      <Button
        look="ghost"
        size="small"
        label="Newer"
        icon={<ChevronDown />}
        onClick={() => find(text, 'newer')}
      />
      <Button look="ghost" size="small" label="Close" icon={<X />} onClick={onClose} />
    </div>
  )
}

/** The search counts up to 1,000 results, and gives no index beyond. */
function describe({ index, count }: { readonly index: number; readonly count: number }): string {
  if (count === 0) return 'Not found'
  return index < 0 ? `${count} or more` : `${index + 1} of ${count}`
}

import { useEffect } from 'react'
import { useShortcut } from '../../../keyboard/shortcuts.ts'

/** `j`, `k` and the arrows move the focus through the rows; Backspace goes up. Enter opens, as on any link. */
export function useFileKeys(onUp: () => void): void {
  useShortcut('j', 'Next file', () => moveFocus(1))
  useShortcut('k', 'Previous file', () => moveFocus(-1))
  useShortcut('Backspace', 'Go up one folder', onUp)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : null
      const hasOther = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey
      if (by === null || hasOther || event.defaultPrevented || !isInList(event.target)) return
      event.preventDefault()
      moveFocus(by)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

/** Arrows belong to menus, fields and other controls that have the focus. */
function isInList(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target === document.body || target.id === 'content' || 'row' in target.dataset
}

function moveFocus(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next = at === -1 ? (by === 1 ? 0 : rows.length - 1) : at + by
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus()
}

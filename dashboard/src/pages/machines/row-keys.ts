import { useShortcut } from '../../keyboard/shortcuts.ts'
import type { Selection } from './selection.ts'

/** `j` and `k` move the focus through the machines, `x` selects the one in focus; Enter opens it as a link. */
export function useRowKeys(selection: Selection): void {
  const move = (by: 1 | -1) => {
    const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
    const at = rows.indexOf(document.activeElement as HTMLElement)
    const next = at === -1 ? (by === 1 ? 0 : rows.length - 1) : at + by
    rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus()
  }
  useShortcut('j', 'Next machine', () => move(1))
  useShortcut('k', 'Previous machine', () => move(-1))
  useShortcut('x', 'Select the machine in focus', () => {
    const id =
      document.activeElement instanceof HTMLElement && document.activeElement.dataset['row']
    if (id) selection.toggle(id)
  })
}

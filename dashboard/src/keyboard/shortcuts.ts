import { useEffect, useRef } from 'react'

/*
 * Single keys and sequences of two. None acts while a field, a screen, a terminal or a dialog has the focus.
 */

export type Shortcut = {
  /** One key, such as `c`, or two after each other, such as `g m`. */
  readonly keys: string
  readonly label: string
  readonly run: () => void
}

const sequenceMs = 1_200
const active = new Set<{ readonly current: Shortcut }>()
let first: { readonly key: string; readonly at: number } | null = null

/** Registers shortcuts while the component is shown. */
export function useShortcut(keys: string, label: string, run: () => void): void {
  const shortcut = useRef<Shortcut>({ keys, label, run })
  useEffect(() => {
    shortcut.current = { keys, label, run }
  })
  useEffect(() => {
    active.add(shortcut)
    return () => void active.delete(shortcut)
  }, [])
}

/** All shortcuts that act at the moment, for the help. */
export function activeShortcuts(): readonly Shortcut[] {
  return [...active].map(({ current }) => current)
}

/** Listens on the page. Returns what ends it. */
export function listenForShortcuts(): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (takesKeys(event.target)) return
    const now = Date.now()
    const pair = first && now - first.at < sequenceMs ? `${first.key} ${event.key}` : null
    first = null
    const found = (pair && find(pair)) || find(event.key)
    if (found) {
      event.preventDefault()
      found.run()
    } else if (beginsPair(event.key)) {
      first = { key: event.key, at: now }
    }
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

/** The newest registration wins: it belongs to the innermost part of the page. */
function find(keys: string): Shortcut | undefined {
  return [...active].reverse().find(({ current }) => current.keys === keys)?.current
}

function beginsPair(key: string): boolean {
  return [...active].some(({ current }) => current.keys.startsWith(`${key} `))
}

function takesKeys(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false
  const takers =
    'input:not([type=checkbox]), textarea, select, [contenteditable=true], [data-takes-keys], [role=dialog], [role=menu], [role=listbox], [role=alertdialog]'
  return target.closest(takers) !== null
}

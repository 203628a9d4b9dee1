import { openSync } from 'node:fs'
import type { IOType } from 'node:child_process'

/*
 * The pty library opens descriptors that every program started later would inherit, and with them
 * other people's terminals. Node can neither mark nor close a descriptor for a child, but it can put
 * another in its place.
 */

/** By what opened them: the number of one that was closed may be another's already. */
const inherited = new Map<symbol, number>()
let nothing: number | undefined

/** Call what is answered once the descriptor is closed. */
export function noteInherited(fd: number): () => void {
  const key = Symbol(fd)
  inherited.set(key, fd)
  return () => void inherited.delete(key)
}

/** The stdio of a program to start: what it asks for, and nothing in the place of what it must not see. */
export function withoutInherited(stdio: readonly (IOType | number)[]): (IOType | number)[] {
  if (inherited.size === 0) return [...stdio]
  nothing ??= openSync('/dev/null', 'r+')
  const hidden = new Set(inherited.values())
  const last = Math.max(stdio.length - 1, ...hidden)
  return Array.from({ length: last + 1 }, (_, fd) =>
    hidden.has(fd) ? nothing! : (stdio[fd] ?? 'ignore'),
  )
}

import type { IOType } from 'node:child_process'
import { openSync } from 'node:fs'

/*
 * The pty library opens descriptors without close-on-exec, so every process started later would
 * inherit them, and with them other users' terminals. Node can neither set the flag nor close a
 * descriptor for a child, but it can put /dev/null in its place.
 */

/** Keyed by opener, not by number: a closed descriptor's number may be in use again. */
const hidden = new Map<symbol, number>()
let devNull: number | undefined

/** Hides a descriptor from processes started from now on. Call the result once it is closed. */
export function hideFromChildren(fd: number): () => void {
  const key = Symbol(fd)
  hidden.set(key, fd)
  return () => void hidden.delete(key)
}

/** The stdio to start a process with: as given, and /dev/null in place of hidden descriptors. */
export function maskHidden(stdio: readonly (IOType | number)[]): (IOType | number)[] {
  if (hidden.size === 0) return [...stdio]
  devNull ??= openSync('/dev/null', 'r+')
  const masked = new Set(hidden.values())
  const last = Math.max(stdio.length - 1, ...masked)
  return Array.from({ length: last + 1 }, (_, fd) =>
    masked.has(fd) ? devNull! : (stdio[fd] ?? 'ignore'),
  )
}

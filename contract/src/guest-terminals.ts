import { z } from 'zod'
import { TerminalId } from './ids.ts'
import { OpenTerminal, Terminal, TerminalColumns, TerminalRows } from './terminals.ts'
import { untrustedArray } from './text.ts'

/** The agent's terminals; their bytes go over POST /terminal (guest-streams.ts). */
export const guestTerminalRoutes = {
  /** Idempotent: returns the terminal of that id if it was opened before. */
  openTerminal: { method: 'POST', path: '/terminals' },
  listTerminals: { method: 'GET', path: '/terminals' },
  /** Includes a terminal whose command has just exited, which can still be attached to. */
  readTerminal: { method: 'GET', path: '/terminal' },
  resizeTerminal: { method: 'POST', path: '/terminals/resize' },
  /** Responds when no process of its session runs any more. */
  killTerminal: { method: 'POST', path: '/terminals/kill' },
} as const

export const GuestOpenTerminal = OpenTerminal.extend({ id: TerminalId })
export type GuestOpenTerminal = z.infer<typeof GuestOpenTerminal>

export const GuestTerminalId = z.strictObject({ id: TerminalId })
export const GuestTerminalSize = z.strictObject({
  id: TerminalId,
  cols: TerminalColumns,
  rows: TerminalRows,
})
export type GuestTerminalSize = z.infer<typeof GuestTerminalSize>

export const GuestTerminal = Terminal.extend({ command: untrustedArray(z.string(), 4096) })

/** Newest first, with their commands cut as in the API. */
export const GuestTerminals = z.object({ data: untrustedArray(GuestTerminal, 64) })

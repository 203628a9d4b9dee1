import { z } from 'zod'
import { TerminalId } from './ids.ts'
import { OpenTerminal, Terminal, TerminalColumns, TerminalRows } from './terminals.ts'
import { untrustedArray } from './text.ts'

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

import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Environment } from './exec.ts'
import { MachineId, TerminalId } from './ids.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const TerminalColumns = z.int().min(1).max(1000)
export const TerminalRows = z.int().min(1).max(1000)

export const Terminal = z
  .object({
    id: TerminalId,
    command: z.array(z.string()),
    user: z.string(),
    cwd: z.string(),
    cols: TerminalColumns,
    rows: TerminalRows,
    created_at: Timestamp,
    attached: z.boolean().describe('A client is connected to it.'),
  })
  .meta({ id: 'Terminal' })
export type Terminal = z.infer<typeof Terminal>

export const OpenTerminal = z.strictObject({
  command: z
    .array(text(131_072))
    .min(1)
    .max(4096)
    .optional()
    .describe("An argv array. Default: the user's login shell."),
  user: z.enum(['agent', 'root']).default('agent'),
  cwd: text(4096, 1).optional().describe("Default: the user's home."),
  cols: TerminalColumns.default(80),
  rows: TerminalRows.default(24),
  env: Environment.optional(),
})
export type OpenTerminal = z.infer<typeof OpenTerminal>

const params = z.object({ machine_id: MachineId })
const oneOf = z.object({ machine_id: MachineId, terminal_id: TerminalId })

export const terminals = {
  open: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/terminals',
    summary: 'Open a pty. Connect to it at the gateway; it lives on without a client.',
    requires: 'machines:control',
    params,
    body: OpenTerminal,
    status: 201,
    response: Terminal,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/terminals',
    summary: 'List the ptys that are open, newest first.',
    requires: 'member',
    params,
    status: 200,
    response: z.object({
      data: z.array(Terminal),
      next_cursor: z.null(),
      has_more: z.literal(false),
    }),
  }),
  resize: endpoint({
    method: 'PATCH',
    path: '/v1/machines/{machine_id}/terminals/{terminal_id}',
    summary: 'Resize a pty.',
    requires: 'machines:control',
    params: oneOf,
    body: z.strictObject({ cols: TerminalColumns, rows: TerminalRows }),
    status: 200,
    response: Terminal,
  }),
  kill: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}/terminals/{terminal_id}',
    summary: 'Kill what runs in a pty, and close it.',
    requires: 'machines:control',
    params: oneOf,
    status: 204,
    response: NoContent,
  }),
}

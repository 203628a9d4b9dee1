import { z } from 'zod'
import { endpoint, largeBodyLimit } from './endpoint.ts'
import { Environment } from './exec.ts'
import { MachineId, TerminalId } from './ids.ts'
import { pageOf, PageQuery } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const TerminalColumns = z.int().min(1).max(1000)
export const TerminalRows = z.int().min(1).max(1000)

export const Terminal = z
  .object({
    id: TerminalId,
    command: z
      .array(z.string())
      .describe('A list shows the first 64 arguments, and 4,096 characters of them together.'),
    user: z.string(),
    cwd: z.string(),
    cols: TerminalColumns,
    rows: TerminalRows,
    created_at: Timestamp,
    attached: z.boolean().describe('Whether a client is connected.'),
  })
  .meta({ id: 'Terminal' })
export type Terminal = z.infer<typeof Terminal>

export const OpenTerminal = z.strictObject({
  command: z
    .array(text(131_072))
    .min(1)
    .max(4096)
    .optional()
    .describe("The program and its arguments. Default: the user's login shell."),
  user: z.enum(['agent', 'root']).default('agent'),
  cwd: text(4096, 1).optional().describe("The working directory. Default: the user's home."),
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
    summary:
      'Open a terminal. Connect to it through the gateway. It keeps running without a client.',
    requires: 'machines:control',
    params,
    body: OpenTerminal,
    bodyLimit: largeBodyLimit,
    status: 201,
    response: Terminal,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/terminals',
    summary: 'List open terminals, newest first.',
    requires: 'member',
    params,
    query: PageQuery,
    status: 200,
    response: pageOf(Terminal),
  }),
  resize: endpoint({
    method: 'PATCH',
    path: '/v1/machines/{machine_id}/terminals/{terminal_id}',
    summary: 'Resize a terminal.',
    requires: 'machines:control',
    params: oneOf,
    body: z.strictObject({ cols: TerminalColumns, rows: TerminalRows }),
    status: 200,
    response: Terminal,
  }),
  kill: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}/terminals/{terminal_id}',
    summary: 'Close a terminal and kill its processes.',
    requires: 'machines:control',
    params: oneOf,
    status: 204,
    response: NoContent,
  }),
}

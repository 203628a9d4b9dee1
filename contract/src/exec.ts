import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId } from './ids.ts'
import { text } from './text.ts'

export const Environment = z.record(
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .max(256),
  text(131_072),
)

export const ExecBody = z
  .strictObject({
    command: z
      .array(text(131_072))
      .min(1)
      .max(4096)
      .describe('An argv array. No shell looks at it: ask for one by name, ["sh", "-c", "…"].'),
    user: z.enum(['agent', 'root']).default('agent'),
    cwd: text(4096, 1).optional().describe("Default: the user's home."),
    env: Environment.optional(),
    stdin: text(4 * 1024 * 1024).optional(),
    timeout_ms: z.int().min(1).max(3_600_000).default(60_000),
  })
  .meta({ id: 'ExecRequest' })
export type ExecBody = z.infer<typeof ExecBody>

export const ExecResult = z
  .object({
    stdout: z.string(),
    stderr: z.string(),
    exit_code: z.int().describe('128 + the number of the signal that ended it; 124 on timeout.'),
    timed_out: z.boolean(),
    truncated: z.boolean().describe('A stream was longer than 1 MiB: its last 1 MiB is here.'),
  })
  .meta({ id: 'ExecResult' })
export type ExecResult = z.infer<typeof ExecResult>

export const exec = {
  run: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/exec',
    summary:
      'Run a command in a machine and wait for it. A non-zero exit is an answer, not an error.',
    requires: 'machines:control',
    params: z.object({ machine_id: MachineId }),
    body: ExecBody,
    status: 200,
    response: ExecResult,
  }),
}

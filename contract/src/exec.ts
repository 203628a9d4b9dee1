import { z } from 'zod'
import { endpoint, largeBodyLimit } from './endpoint.ts'
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
      .describe(
        'The program and its arguments. No shell is involved unless you name one: ["sh", "-c", "…"].',
      ),
    user: z.enum(['agent', 'root']).default('agent').describe('The user to run as.'),
    cwd: text(4096, 1).optional().describe("The working directory. Default: the user's home."),
    env: Environment.optional().describe('Variables added to those of a login.'),
    stdin: text(4 * 1024 * 1024)
      .optional()
      .describe('Text for standard input, which is empty by default.'),
    timeout_ms: z
      .int()
      .min(1)
      .max(3_600_000)
      .default(60_000)
      .describe('The command is killed after this many milliseconds.'),
  })
  .meta({ id: 'ExecRequest' })
export type ExecBody = z.infer<typeof ExecBody>

export const ExecResult = z
  .object({
    stdout: z.string(),
    stderr: z.string(),
    exit_code: z.int().describe('The exit code: 128 + N after signal N, 124 after a timeout.'),
    timed_out: z.boolean(),
    truncated: z
      .boolean()
      .describe('Whether stdout or stderr exceeded 1 MiB and only its last 1 MiB is returned.'),
  })
  .meta({ id: 'ExecResult' })
export type ExecResult = z.infer<typeof ExecResult>

export const exec = {
  run: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/exec',
    summary:
      'Run a command and wait for it to exit. A non-zero exit code is not an error of the API.',
    requires: 'machines:control',
    params: z.object({ machine_id: MachineId }),
    body: ExecBody,
    bodyLimit: largeBodyLimit,
    status: 200,
    response: ExecResult,
  }),
}

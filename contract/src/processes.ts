import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ExecBody } from './exec.ts'
import { MachineId, ProcessId } from './ids.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const Process = z
  .object({
    id: ProcessId,
    command: z.array(z.string()),
    user: z.string(),
    cwd: z.string(),
    state: z.enum(['running', 'exited']),
    exit_code: z.int().nullable().describe('128 + the number of the signal that ended it.'),
    created_at: Timestamp,
    exited_at: Timestamp.nullable(),
  })
  .meta({ id: 'Process', description: 'A command that goes on without its caller.' })
export type Process = z.infer<typeof Process>

export const StartProcess = ExecBody.omit({ timeout_ms: true, stdin: true })
export type StartProcess = z.infer<typeof StartProcess>

export const ProcessStream = z.enum(['stdout', 'stderr'])
export const ProcessSignal = z.enum([
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
  'SIGUSR1',
  'SIGUSR2',
  'SIGTERM',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGWINCH',
])

export const ProcessLog = z
  .object({
    stream: ProcessStream,
    content: z.string(),
    encoding: z.enum(['utf8', 'base64']),
    offset: z.int().describe('Where content begins: later than asked for if that is kept no more.'),
    next_offset: z.int().describe('Where to go on.'),
    eof: z.boolean().describe('The command has exited and nothing follows.'),
  })
  .meta({ id: 'ProcessLog' })
export type ProcessLog = z.infer<typeof ProcessLog>

const params = z.object({ machine_id: MachineId })
const oneOf = z.object({ machine_id: MachineId, process_id: ProcessId })
const path = '/v1/machines/{machine_id}/processes'

export const processes = {
  start: endpoint({
    method: 'POST',
    path,
    summary: 'Start a command that goes on without its caller.',
    requires: 'machines:control',
    params,
    body: StartProcess,
    status: 201,
    response: Process,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List such commands, newest first: those that run and the last 100 that have exited.',
    requires: 'member',
    params,
    status: 200,
    response: z.object({
      data: z.array(Process),
      next_cursor: z.null(),
      has_more: z.literal(false),
    }),
  }),
  get: endpoint({
    method: 'GET',
    path: `${path}/{process_id}`,
    summary: 'Read one; with wait, once it has exited or the time is over.',
    requires: 'member',
    params: oneOf,
    query: z.strictObject({ wait: z.coerce.number().min(0).max(120).default(0) }),
    status: 200,
    response: Process,
  }),
  logs: endpoint({
    method: 'GET',
    path: `${path}/{process_id}/logs`,
    summary: 'Read what it wrote, from an offset. The last 16 MiB of each stream are kept.',
    requires: 'member',
    params: oneOf,
    query: z.strictObject({
      stream: ProcessStream.default('stdout'),
      offset: z.coerce.number().int().min(0).default(0),
      length: z.coerce
        .number()
        .int()
        .min(1)
        .max(4 * 1024 * 1024)
        .default(1024 * 1024),
      encoding: z.enum(['utf8', 'base64']).default('utf8'),
      wait: z.coerce
        .number()
        .min(0)
        .max(120)
        .default(0)
        .describe('Seconds to wait for more where there is none yet.'),
    }),
    status: 200,
    response: ProcessLog,
  }),
  stdin: endpoint({
    method: 'POST',
    path: `${path}/{process_id}/stdin`,
    summary: 'Write to its standard input, and close it with eof.',
    requires: 'machines:control',
    params: oneOf,
    body: z.strictObject({
      content: text(4 * 1024 * 1024).default(''),
      encoding: z.enum(['utf8', 'base64']).default('utf8'),
      eof: z.boolean().default(false),
    }),
    status: 204,
    response: NoContent,
  }),
  signal: endpoint({
    method: 'POST',
    path: `${path}/{process_id}/signal`,
    summary: 'Send a signal to its process group.',
    requires: 'machines:control',
    params: oneOf,
    body: z.strictObject({ signal: ProcessSignal.default('SIGTERM') }),
    status: 204,
    response: NoContent,
  }),
}

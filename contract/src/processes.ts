import { z } from 'zod'
import { endpoint, largeBodyLimit } from './endpoint.ts'
import { ExecBody } from './exec.ts'
import { MachineId, ProcessId } from './ids.ts'
import { pageOf, PageQuery } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const Process = z
  .object({
    id: ProcessId,
    command: z
      .array(z.string())
      .describe('A list shows the first 64 arguments, and 4,096 characters of them together.'),
    user: z.string(),
    cwd: z.string(),
    state: z.enum(['running', 'exited']),
    exit_code: z
      .int()
      .nullable()
      .describe('The exit code, or 128 + N after signal N. Null while running.'),
    created_at: Timestamp,
    exited_at: Timestamp.nullable(),
  })
  .meta({ id: 'Process', description: 'A command that runs in the background.' })
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
    offset: z
      .int()
      .describe('The offset of content: later than requested if older output was discarded.'),
    next_offset: z.int().describe('The offset to read next.'),
    eof: z.boolean().describe('Whether the command has exited and all output was read.'),
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
    summary: 'Start a command in the background.',
    requires: 'machines:control',
    params,
    body: StartProcess,
    bodyLimit: largeBodyLimit,
    status: 201,
    response: Process,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List processes, newest first: running ones and the last 100 that exited.',
    requires: 'member',
    params,
    query: PageQuery,
    status: 200,
    response: pageOf(Process),
  }),
  get: endpoint({
    method: 'GET',
    path: `${path}/{process_id}`,
    summary: 'Get a process.',
    requires: 'member',
    params: oneOf,
    query: z.strictObject({
      wait: z.coerce
        .number()
        .min(0)
        .max(120)
        .default(0)
        .describe('Wait up to this many seconds for the process to exit.'),
    }),
    status: 200,
    response: Process,
  }),
  logs: endpoint({
    method: 'GET',
    path: `${path}/{process_id}/logs`,
    summary:
      'Read the output of a process from an offset. The last 16 MiB of each stream are kept.',
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
        .describe('Wait up to this many seconds for output if there is none yet.'),
    }),
    status: 200,
    response: ProcessLog,
  }),
  stdin: endpoint({
    method: 'POST',
    path: `${path}/{process_id}/stdin`,
    summary: 'Write to the standard input of a process. With eof, close it afterwards.',
    requires: 'machines:control',
    params: oneOf,
    body: z.strictObject({
      content: text(4 * 1024 * 1024).default(''),
      encoding: z.enum(['utf8', 'base64']).default('utf8'),
      eof: z.boolean().default(false),
    }),
    bodyLimit: largeBodyLimit,
    status: 204,
    response: NoContent,
  }),
  signal: endpoint({
    method: 'POST',
    path: `${path}/{process_id}/signal`,
    summary: 'Send a signal to the process group of a process.',
    requires: 'machines:control',
    params: oneOf,
    body: z.strictObject({ signal: ProcessSignal.default('SIGTERM') }),
    status: 204,
    response: NoContent,
  }),
}

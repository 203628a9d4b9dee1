import type { Machine, Process } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { shorten } from '../text.ts'
import { destructive, readOnly, tool, type ToolCall, type Tool } from '../tool.ts'

const process = z.string().regex(/^prc_[0-9a-z]+$/)
const maxOutputLength = 20_000
/** Most clients abandon a call after a minute. */
const defaultTimeoutSeconds = 45

export const commandTools: readonly Tool[] = [
  tool({
    name: 'run_command',
    title: 'Run a command',
    description:
      'Run a shell command line on a machine and return its exit code and output. Use it for anything ' +
      'that needs no screen: installing, building, downloading, inspecting files. Each call starts a ' +
      'new shell in the home of the user "agent", who may use sudo. For servers, programs with a ' +
      'window and commands that take longer than the timeout, set background: true; then check them ' +
      'with read_process and end them with stop_process.',
    input: z.strictObject({
      machine,
      command: z.string().min(1).max(100_000).describe('A command line for bash.'),
      cwd: z.string().min(1).optional().describe('Default: the home of the user.'),
      user: z.enum(['agent', 'root']).optional().describe('Default: agent.'),
      timeout_seconds: z
        .int()
        .min(1)
        .max(600)
        .optional()
        .describe(
          `The command is killed after this. Default: ${defaultTimeoutSeconds}. Ignored with background.`,
        ),
      background: z
        .boolean()
        .optional()
        .describe('Return immediately and leave the command running.'),
    }),
    annotations: { ...destructive, openWorldHint: true },
    async run(call, { background, timeout_seconds = defaultTimeoutSeconds, ...input }) {
      const found = await findMachine(call, input.machine)
      const { command, cwd, user } = input
      const { signal } = call
      if (background) {
        const started = await found.processes.start(command, { cwd, user, signal })
        return `Started as process ${started.id}. read_process shows its output.`
      }
      const timeoutMs = timeout_seconds * 1000
      const result = await found.exec(command, { cwd, user, timeoutMs, signal })
      const timeoutNote = `It was killed after ${timeout_seconds} s. Use a longer timeout_seconds, or background: true.`
      return [
        `Exit code ${result.exitCode}.${result.timedOut ? ` ${timeoutNote}` : ''}`,
        ...section('stdout', result.stdout),
        ...section('stderr', result.stderr),
        ...(result.truncated ? ['Only the last MiB of the output was kept.'] : []),
      ].join('\n')
    },
  }),
  tool({
    name: 'read_process',
    title: 'Check background processes',
    description:
      'Read the state, exit code and output of a background process; without a process, list all of ' +
      'the machine. Use it for commands that run_command started with background: true.',
    input: z.strictObject({
      machine,
      process: process.optional().describe('Process ID (prc_…). Default: list all.'),
      stream: z.enum(['stdout', 'stderr']).optional().describe('Default: stdout.'),
      offset: z.int().min(0).optional().describe('Byte offset to start from. Default: 0.'),
      wait_seconds: z
        .number()
        .min(0)
        .max(45)
        .optional()
        .describe('Wait up to this long for output if there is none yet. Default: 0.'),
    }),
    annotations: readOnly,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      if (input.process) return readProcess(call, found, { ...input, id: input.process })
      const all = await found.processes.list({ signal: call.signal }).all()
      return all.map(describeProcess).join('\n') || 'There are no background processes.'
    },
  }),
  tool({
    name: 'stop_process',
    title: 'Stop a background process',
    description:
      'Stop a background process and its child processes by a signal. Use SIGTERM, the default, and ' +
      'SIGKILL only if that does not help.',
    input: z.strictObject({
      machine,
      process,
      signal: z.enum(['SIGTERM', 'SIGINT', 'SIGKILL', 'SIGHUP']).optional(),
    }),
    annotations: destructive,
    async run(call, { signal = 'SIGTERM', ...input }) {
      const found = await findMachine(call, input.machine)
      await found.processes.signal(input.process, signal, { signal: call.signal })
      return `Sent ${signal} to ${input.process}. read_process shows when it has exited.`
    },
  }),
]

async function readProcess(
  { signal }: ToolCall,
  found: Machine,
  input: {
    readonly id: string
    readonly stream?: 'stdout' | 'stderr' | undefined
    readonly offset?: number | undefined
    readonly wait_seconds?: number | undefined
  },
): Promise<string> {
  const { id, stream = 'stdout', offset, wait_seconds: wait } = input
  const query = { stream, offset, wait, length: maxOutputLength, signal }
  let log = await found.processes.readLog(id, query)
  const read = await found.processes.get(id, { signal })
  // It may have exited after its log was read.
  if (read.state === 'exited' && !log.eof) log = await found.processes.readLog(id, query)
  const next = log.eof ? 'End of output' : `Continue with offset ${log.nextOffset}`
  return [describeProcess(read), ...section(stream, log.content), `${next}.`].join('\n')
}

function describeProcess({ id, state, exitCode, command, createdAt }: Process): string {
  const isLine = /^(ba)?sh$/.test(command[0]!) && command[1] === '-c'
  const line = isLine ? command[2]! : command.join(' ')
  const status = exitCode === null ? state : `${state} with ${exitCode}`
  return `${id}: ${status}, started ${createdAt}: ${shorten(line, 300)}`
}

function section(stream: string, text: string): string[] {
  if (text === '') return [`(nothing on ${stream})`]
  return [`--- ${stream}`, shorten(text.replace(/\n$/, ''), maxOutputLength)]
}

import type { Machine, Process } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { shorten } from '../text.ts'
import { destroys, looks, tool, type Call, type Tool } from '../tool.ts'

const process = z.string().regex(/^prc_[0-9a-z]+$/)
const maxOutputLength = 20_000
/** Clients give a call up after a minute, unless they were told to wait longer. */
const defaultTimeoutSeconds = 45

export const commandTools: readonly Tool[] = [
  tool({
    name: 'run_command',
    title: 'Run a command',
    description:
      'Run a shell command line on a machine and answer its exit code and output. Use it for all ' +
      'that needs no screen: installing, building, downloading, looking into files. Each call is a ' +
      'shell of its own, in the home of the user "agent", who may use sudo. What runs on, such as ' +
      'a server or a program with a window, or takes longer than the timeout, is run with ' +
      'background: true, looked at with read_process and ended with stop_process.',
    input: z.strictObject({
      machine,
      command: z.string().min(1).max(100_000).describe('A line for sh.'),
      cwd: z.string().min(1).optional().describe('Default: the home of the user.'),
      user: z.enum(['agent', 'root']).optional().describe('Default: agent.'),
      timeout_seconds: z
        .int()
        .min(1)
        .max(600)
        .optional()
        .describe(`Then it is ended. Default: ${defaultTimeoutSeconds}. Not for background.`),
      background: z.boolean().optional().describe('Answer at once, and let it run on.'),
    }),
    annotations: { ...destroys, openWorldHint: true },
    async run(call, { background, timeout_seconds = defaultTimeoutSeconds, ...input }) {
      const found = await findMachine(call, input.machine)
      const { command, cwd, user } = input
      const { signal } = call
      if (background) {
        const started = await found.processes.start(command, { cwd, user, signal })
        return `Started as process ${started.id}. read_process shows what it writes.`
      }
      const timeoutMs = timeout_seconds * 1000
      const result = await found.exec(command, { cwd, user, timeoutMs, signal })
      const late = `It was ended after ${timeout_seconds} s. Use a longer timeout_seconds, or background: true.`
      return [
        `Exit code ${result.exitCode}.${result.timedOut ? ` ${late}` : ''}`,
        ...section('stdout', result.stdout),
        ...section('stderr', result.stderr),
        ...(result.truncated ? ['Only the last MiB of the output was kept.'] : []),
      ].join('\n')
    },
  }),
  tool({
    name: 'read_process',
    title: 'Look at background processes',
    description:
      'Read whether a background process still runs, its exit code and what it wrote; without a ' +
      'process, list those of the machine. Use it for what run_command started with background: true.',
    input: z.strictObject({
      machine,
      process: process.optional().describe('Its id. Default: list them.'),
      stream: z.enum(['stdout', 'stderr']).optional().describe('Default: stdout.'),
      offset: z.int().min(0).optional().describe('Where to begin, in bytes. Default: 0.'),
      wait_seconds: z
        .number()
        .min(0)
        .max(45)
        .optional()
        .describe('Wait so long for output where there is none yet. Default: 0.'),
    }),
    annotations: looks,
    async run(call, input) {
      const found = await findMachine(call, input.machine)
      if (input.process) return readProcess(call, found, { ...input, id: input.process })
      const all = await found.processes.list({ signal: call.signal })
      return all.map(describeProcess).join('\n') || 'There is no background process.'
    },
  }),
  tool({
    name: 'stop_process',
    title: 'End a background process',
    description:
      'Send a signal to a background process and all that it started, to end it. Use SIGTERM, the default, ' +
      'and SIGKILL only if that did not help.',
    input: z.strictObject({
      machine,
      process,
      signal: z.enum(['SIGTERM', 'SIGINT', 'SIGKILL', 'SIGHUP']).optional(),
    }),
    annotations: destroys,
    async run(call, { signal = 'SIGTERM', ...input }) {
      const found = await findMachine(call, input.machine)
      await found.processes.signal(input.process, signal, { signal: call.signal })
      return `Sent ${signal} to ${input.process}. read_process shows when it has ended.`
    },
  }),
]

async function readProcess(
  { signal }: Call,
  found: Machine,
  wish: {
    readonly id: string
    readonly stream?: 'stdout' | 'stderr' | undefined
    readonly offset?: number | undefined
    readonly wait_seconds?: number | undefined
  },
): Promise<string> {
  const { id, stream = 'stdout', offset, wait_seconds: wait } = wish
  const query = { stream, offset, wait, length: maxOutputLength, signal }
  const log = await found.processes.readLog(id, query)
  const read = await found.processes.get(id, { signal })
  const next = log.eof ? 'That is all of it' : `Go on with offset ${log.nextOffset}`
  return [describeProcess(read), ...section(stream, log.content), `${next}.`].join('\n')
}

function describeProcess({ id, state, exitCode, command, createdAt }: Process): string {
  const line = command[0] === 'sh' && command[1] === '-c' ? command[2]! : command.join(' ')
  const how = exitCode === null ? state : `${state} with ${exitCode}`
  return `${id}: ${how}, started ${createdAt}: ${shorten(line, 300)}`
}

function section(stream: string, text: string): string[] {
  if (text === '') return [`(nothing on ${stream})`]
  return [`--- ${stream}`, shorten(text.replace(/\n$/, ''), maxOutputLength)]
}

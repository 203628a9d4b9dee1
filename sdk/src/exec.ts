import { withShell, type Command } from './command.ts'
import { streamCommand } from './exec-stream.ts'
import type { CallOptions } from './options.ts'
import type { InputSource, Processes } from './processes.ts'
import type { Body, Transport } from './transport.ts'
import type { ExecResult } from './wire/records.ts'

export type ExecOptions = CallOptions &
  Omit<Body<'POST /v1/machines/{machine_id}/exec'>, 'command' | 'stdin'> & {
    /** Standard input: text, bytes, or a stream of bytes. Default: empty. */
    readonly stdin?: InputSource | undefined
    /** Receives standard output as it arrives, in whole characters. A promise that it returns is awaited. */
    readonly onStdout?: ((text: string) => unknown) | undefined
    /** The same for standard error. */
    readonly onStderr?: ((text: string) => unknown) | undefined
  }

const defaultTimeoutMs = 60_000

/**
 * Runs a command and waits for it. Output is streamed, and input that is not text sent, through a background
 * process; the result is the same. Never retried: a failed connection is an error.
 */
export async function runCommand(
  transport: Transport,
  machineId: string,
  processes: Processes,
  command: Command,
  options: ExecOptions,
): Promise<ExecResult> {
  const { signal, stdin, onStdout, onStderr, timeoutMs = defaultTimeoutMs, ...rest } = options
  const isStream = onStdout || onStderr || (stdin !== undefined && typeof stdin !== 'string')
  if (isStream) return streamCommand(processes, command, { ...options, timeoutMs })
  return withShell(command, (argv) =>
    transport.call(
      'POST /v1/machines/{machine_id}/exec',
      { params: { machineId }, body: { ...rest, stdin, timeoutMs, command: argv } },
      { signal, tryTimeoutMs: timeoutMs + 30_000 },
    ),
  )
}

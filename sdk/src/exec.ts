import type { CallOptions } from './options.ts'
import type { Body, Transport } from './transport.ts'
import type { ExecResult } from './wire/records.ts'

/** An argv array, run without a shell, or a command line for `sh`. */
export type Command = string | readonly string[]
export type ExecOptions = CallOptions & Omit<Body<'POST /v1/machines/{machine_id}/exec'>, 'command'>

const defaultTimeoutMs = 60_000

/** Runs a command and waits for it. Never retried: a failed connection is an error. */
export async function runCommand(
  transport: Transport,
  machineId: string,
  command: Command,
  { signal, ...rest }: ExecOptions,
): Promise<ExecResult> {
  const body = { ...rest, command: argv(command) }
  const tryTimeoutMs = (rest.timeoutMs ?? defaultTimeoutMs) + 30_000
  return transport.call(
    'POST /v1/machines/{machine_id}/exec',
    { params: { machineId }, body },
    { signal, tryTimeoutMs },
  )
}

export function argv(command: Command): string[] {
  return typeof command === 'string' ? ['sh', '-c', command] : [...command]
}

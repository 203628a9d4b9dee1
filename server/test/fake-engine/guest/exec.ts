import type { ExecBody, ExecResult } from '@computer/contract'
import { commands, type Command, type CommandHost, type Process } from './commands.ts'
import { home } from './disk.ts'
import { GuestFault } from './fault.ts'

const maxStreamBytes = 1024 * 1024

/** Runs one of the commands that a fake machine knows. Nothing is ever run on the host. */
export async function runCommand(
  host: CommandHost,
  body: ExecBody,
  signal: AbortSignal,
): Promise<ExecResult> {
  const [name = '', ...args] = body.command
  const command = commands.get(name.slice(name.lastIndexOf('/') + 1))
  if (!command) throw new GuestFault('invalid_request', `there is no command "${name}"`)
  const userHome = body.user === 'root' ? '/root' : home
  const cwd = host.disk.resolve(body.cwd ?? userHome)
  if (host.disk.find(cwd)?.type !== 'directory') {
    throw new GuestFault('invalid_request', `there is no directory ${cwd}`)
  }
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  const process: Process = {
    ...host,
    user: body.user,
    cwd,
    env: { HOME: userHome, USER: body.user, PATH: '/usr/bin:/bin', ...host.secrets, ...body.env },
    stdin: Buffer.from(body.stdin ?? ''),
    out: (bytes) => stdout.push(Buffer.from(bytes)),
    err: (bytes) => stderr.push(Buffer.from(bytes)),
    budget: { leftMs: body.timeout_ms },
    signal,
  }
  const exitCode = await runOrComplain(command, process, args)
  const timedOut = process.budget.leftMs <= 0
  const [out, err] = [tailOf(stdout), tailOf(stderr)]
  return {
    stdout: out.text,
    stderr: err.text,
    exit_code: timedOut ? 124 : exitCode,
    timed_out: timedOut,
    truncated: out.truncated || err.truncated,
  }
}

async function runOrComplain(
  command: Command,
  process: Process,
  args: readonly string[],
): Promise<number> {
  try {
    return await command(process, args)
  } catch (error) {
    if (!(error instanceof GuestFault)) throw error
    process.err(`${error.message}\n`)
    return 1
  }
}

function tailOf(chunks: readonly Buffer[]): { text: string; truncated: boolean } {
  const whole = Buffer.concat(chunks)
  const truncated = whole.length > maxStreamBytes
  const tail = truncated ? whole.subarray(whole.length - maxStreamBytes) : whole
  return { text: tail.toString(), truncated }
}

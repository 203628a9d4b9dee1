import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import type { FakeDisk } from './disk.ts'
import { GuestFault } from './fault.ts'
// oxlint-disable-next-line import/no-cycle -- a shell is a command that runs commands
import { runShell } from './shell.ts'

/** What a command can reach of its machine. */
export type CommandHost = {
  readonly disk: FakeDisk
  readonly hostname: string
  readonly memoryMb: number
  /** In the environment of every command. */
  readonly secrets: Readonly<Record<string, string>>
  powerOff(): void
  reboot(): void
}

export type Process = CommandHost & {
  readonly user: string
  cwd: string
  readonly env: Record<string, string>
  readonly stdin: Buffer
  out(bytes: string | Buffer): void
  err(bytes: string | Buffer): void
  /** Time the whole exec may still wait; at zero it has timed out. */
  readonly budget: { leftMs: number }
  readonly signal: AbortSignal
}

/** Answers the exit code. */
export type Command = (process: Process, args: readonly string[]) => number | Promise<number>

export const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['true', () => 0],
  ['false', () => 1],
  ['echo', echo],
  ['printf', (process, args) => print(process, unescape(args.join(' ')))],
  ['pwd', (process) => print(process, `${process.cwd}\n`)],
  ['whoami', (process) => print(process, `${process.user}\n`)],
  ['hostname', (process) => print(process, `${process.hostname}\n`)],
  ['uname', (process) => print(process, 'Linux\n')],
  ['nproc', (process) => print(process, '2\n')],
  ['env', printEnvironment],
  ['printenv', (process, [name = '']) => print(process, `${process.env[name] ?? ''}\n`)],
  ['cat', cat],
  ['head', head],
  ['wc', (process) => print(process, `${process.stdin.length}\n`)],
  ['seq', sequence],
  ['ls', list],
  ['mkdir', makeDirectories],
  ['touch', touch],
  ['rm', remove],
  ['test', test],
  ['sleep', sleep],
  ['sync', () => 0],
  ['sudo', sudo],
  ['systemctl', (process, [verb = '']) => systemctl(process, verb)],
  ['poweroff', (process) => systemctl(process, 'poweroff')],
  ['reboot', (process) => systemctl(process, 'reboot')],
  ['sh', runShell],
  ['bash', runShell],
])

function print(process: Process, text: string | Buffer): number {
  process.out(text)
  return 0
}

function fail(process: Process, message: string, exitCode = 1): number {
  process.err(`${message}\n`)
  return exitCode
}

function echo(process: Process, args: readonly string[]): number {
  return args[0] === '-n'
    ? print(process, args.slice(1).join(' '))
    : print(process, `${args.join(' ')}\n`)
}

function unescape(text: string): string {
  return text.replaceAll('\\n', '\n').replaceAll('\\t', '\t')
}

function printEnvironment(process: Process): number {
  const lines = Object.entries(process.env).map(([name, value]) => `${name}=${value}\n`)
  return print(process, lines.join(''))
}

function cat(process: Process, args: readonly string[]): number {
  if (args.length === 0) return print(process, process.stdin)
  return forEachPath(process, 'cat', args, (path) => process.out(process.disk.read(path).bytes))
}

/** `head -c N [/dev/zero or /dev/urandom]` and `head -n N`. */
function head(process: Process, args: readonly string[]): number {
  const [unit, count, path] = args
  const size = Number(count)
  if (unit === '-c' && path === '/dev/zero') return print(process, Buffer.alloc(size))
  if (unit === '-c' && path === '/dev/urandom') return print(process, randomBytes(size))
  const bytes = path
    ? process.disk.read(process.disk.resolve(path, process.cwd)).bytes
    : process.stdin
  if (unit === '-c') return print(process, bytes.subarray(0, size))
  const lines = bytes.toString().split('\n').slice(0, size)
  return print(process, `${lines.join('\n')}\n`)
}

function sequence(process: Process, [last = '0']: readonly string[]): number {
  const lines = Array.from({ length: Number(last) }, (_, index) => `${index + 1}\n`)
  return print(process, lines.join(''))
}

function list(process: Process, args: readonly string[]): number {
  const paths = args.filter((arg) => !arg.startsWith('-'))
  return forEachPath(process, 'ls', paths.length > 0 ? paths : ['.'], (path) => {
    const node = process.disk.find(path)
    if (!node) throw new GuestFault('not_found', `cannot access '${path}': no such file`)
    const names = node.type === 'file' ? [path] : [...node.entries.keys()].sort()
    for (const name of names) process.out(`${name}\n`)
  })
}

function makeDirectories(process: Process, args: readonly string[]): number {
  const paths = args.filter((arg) => arg !== '-p')
  return forEachPath(process, 'mkdir', paths, (path) =>
    process.disk.makeDirectory(path, process.user),
  )
}

function touch(process: Process, args: readonly string[]): number {
  const options = { append: true, createParents: false, owner: process.user }
  return forEachPath(process, 'touch', args, (path) =>
    process.disk.write(path, Buffer.alloc(0), options),
  )
}

function remove(process: Process, args: readonly string[]): number {
  const flags = args.filter((arg) => arg.startsWith('-')).join('')
  const paths = args.filter((arg) => !arg.startsWith('-'))
  return forEachPath(process, 'rm', paths, (path) => {
    if (process.disk.find(path)?.type === 'directory' && !flags.includes('r')) {
      throw new GuestFault('invalid_request', `cannot remove '${path}': is a directory`)
    }
    if (!process.disk.remove(path) && !flags.includes('f')) {
      throw new GuestFault('not_found', `cannot remove '${path}': no such file`)
    }
  })
}

/** `test -e`, `-f` and `-d`. */
function test(process: Process, [flag, path = '']: readonly string[]): number {
  const type = process.disk.find(posix.resolve(process.cwd, path))?.type
  if (flag === '-f') return type === 'file' ? 0 : 1
  if (flag === '-d') return type === 'directory' ? 0 : 1
  return type ? 0 : 1
}

/** The one command that takes time, because it was asked to. */
async function sleep(process: Process, [seconds = '0']: readonly string[]): Promise<number> {
  const { budget, signal } = process
  const askedMs = Number.parseFloat(seconds) * 1000
  if (!(askedMs >= 0)) return fail(process, `sleep: invalid time interval '${seconds}'`)
  const waitMs = Math.min(askedMs, budget.leftMs)
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, waitMs)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
  budget.leftMs -= waitMs
  return signal.aborted ? 143 : 0
}

function sudo(process: Process, args: readonly string[]): number | Promise<number> {
  const [name = '', ...rest] = args.filter((arg, index) => index > 0 || arg !== '-n')
  const command = commands.get(name)
  if (!command) return fail(process, `sudo: ${name}: command not found`)
  return command({ ...process, user: 'root' }, rest)
}

function systemctl(process: Process, verb: string): number {
  if (verb !== 'poweroff' && verb !== 'reboot') return 0
  if (process.user !== 'root') return fail(process, `${verb}: must be root`)
  if (verb === 'poweroff') process.powerOff()
  else process.reboot()
  return 0
}

function forEachPath(
  process: Process,
  name: string,
  paths: readonly string[],
  act: (path: string) => unknown,
): number {
  let exitCode = 0
  for (const path of paths) {
    try {
      act(process.disk.resolve(path, process.cwd))
    } catch (error) {
      if (!(error instanceof GuestFault)) throw error
      exitCode = fail(process, `${name}: ${error.message}`)
    }
  }
  return exitCode
}

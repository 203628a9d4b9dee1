import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'

export const jsonFlag = () => new Option('--json', 'print JSON with the field names of the API')
export const profileFlag = () =>
  new Option('--profile <name>', 'profile to use, as saved by `computer login`')
export const urlFlag = () => new Option('--url <url>', 'address of the server')

/** Options that may also stand before the command. */
export const globalFlags = () => [jsonFlag(), profileFlag(), urlFlag()]

/** A command that talks to a server. */
export function clientCommand(name: string) {
  return new Command(name).addOption(jsonFlag()).addOption(profileFlag()).addOption(urlFlag())
}

/** A command that starts work on the server and, by default, waits for it to complete. */
export function waitingCommand(name: string) {
  return clientCommand(name)
    .option('--no-wait', 'return immediately instead of waiting for completion')
    .option('--timeout <seconds>', 'maximum time to wait (default: 300)', parseSeconds)
}

export type WaitFlags = { readonly wait: boolean; readonly timeout?: number | undefined }

export function waitOptions({ wait, timeout }: WaitFlags) {
  return { wait, timeoutMs: timeout === undefined ? undefined : timeout * 1000 }
}

export const yesFlag = () => new Option('-y, --yes', 'skip the confirmation prompt')

type Pairs = Readonly<Record<string, string>>

/** Parses a repeatable key=value option. */
export function collectPair(text: string, before: Pairs | undefined): Pairs {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('Expected key=value.')
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}

export function parseCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('Expected a positive integer.')
}

export function parseCountOrNone(text: string): number {
  return text === '0' ? 0 : parseCount(text)
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}

export function parseSeconds(text: string): number {
  return parsePositive(text, 'seconds')
}

export function parseMinutes(text: string): number {
  return parsePositive(text, 'minutes')
}

function parsePositive(text: string, unit: string): number {
  const value = Number(text)
  if (value > 0) return value
  throw new InvalidArgumentError(`Expected a positive number of ${unit}.`)
}

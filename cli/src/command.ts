import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'

/** A command that talks to a server. */
export function clientCommand(name: string) {
  return new Command(name)
    .option('--json', 'print JSON, in the words of the API')
    .option('--profile <name>', 'use this profile of `computer login`')
}

/** Work that goes on in the server is waited for, unless one of these says otherwise. */
export const waitFlag = () => new Option('--no-wait', 'return at once, while the work goes on')
export const timeoutFlag = () =>
  new Option('--timeout <seconds>', 'how long to wait (default: 300)').argParser(parseSeconds)
export const yesFlag = () => new Option('-y, --yes', 'do not ask first')

export function waitOptions({
  wait,
  timeout,
}: {
  readonly wait: boolean
  readonly timeout?: number | undefined
}) {
  return { wait, timeoutMs: timeout === undefined ? undefined : timeout * 1000 }
}

export type Pairs = Readonly<Record<string, string>>

/** key=value, again and again. */
export function collectPair(text: string, before: Pairs | undefined): Pairs {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('It is key=value.')
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}

export function parseCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('It is a whole number above 0.')
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('It is a number of seconds.')
}

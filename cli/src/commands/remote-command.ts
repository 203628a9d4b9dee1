import { Option } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { Exit, reportError } from '../errors.ts'
import type { OutputOptions } from '../output.ts'

/** As with ssh, 255 means the command could not be run; any other code is its own. */
const couldNotRun = 255

export const userFlag = () =>
  new Option('-u, --user <user>', 'user to run it as (default: agent)').choices([
    'agent',
    'root',
  ] as const)

/** The words after the machine. Drops a leading `--`, and refuses our own options placed too late. */
export function argv(words: readonly string[]): readonly string[] {
  if (words[0] === '--') return words.slice(1)
  if (!words[0]?.startsWith('-')) return words
  const message = `"${words[0]}" is not a command; put options of this command before the machine`
  throw new ApiError('invalid_request', message)
}

/** Exits with 255 on our own failures, to tell them from the exit codes of the remote command. */
export async function failAs255({ json }: OutputOptions, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Exit) throw error
    reportError(error, { json: json === true })
    throw new Exit(couldNotRun)
  }
}

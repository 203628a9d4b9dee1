import { Option } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { Exit, reportError } from '../errors.ts'

/** What a command that could not be run ends with, as with ssh: all others are the command's own. */
const couldNotRun = 255

export const userFlag = () =>
  new Option('-u, --user <user>', 'who runs it (default: agent)').choices([
    'agent',
    'root',
  ] as const)

/**
 * What stands after the machine is the command with its flags. The `--` that some put before it means
 * nothing, and a command that begins with a flag was meant for us.
 */
export function argv(words: readonly string[]): readonly string[] {
  if (words[0] === '--') return words.slice(1)
  if (!words[0]?.startsWith('-')) return words
  const message = `"${words[0]}" is no command: options of this command go before the machine`
  throw new ApiError('invalid_request', message)
}

/** Runs what ends with the exit code of something else, so that its own failures are told apart. */
export async function failAs255(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Exit) throw error
    reportError(error, { json: false })
    throw new Exit(couldNotRun)
  }
}

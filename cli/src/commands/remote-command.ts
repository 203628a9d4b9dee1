import { Option } from '@commander-js/extra-typings'
import { Exit, reportError } from '../errors.ts'

/** What a command that could not be run ends with, as with ssh: all others are the command's own. */
const couldNotRun = 255

export const userFlag = () =>
  new Option('-u, --user <user>', 'who runs it (default: agent)').choices([
    'agent',
    'root',
  ] as const)

/** Flags of the command are the command's, so the `--` that some put before it means nothing. */
export function argv(words: readonly string[]): readonly string[] {
  return words[0] === '--' ? words.slice(1) : words
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

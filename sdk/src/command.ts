import { ApiError } from './errors.ts'

/** An argv array, run without a shell, or a command line for `bash`. */
export type Command = string | readonly string[]

/**
 * Names the shell of a command line: `bash`, or `sh` on a machine without it. The machine refuses a program
 * that it does not have before anything runs.
 */
export async function withShell<T>(
  command: Command,
  run: (argv: string[]) => Promise<T>,
): Promise<T> {
  if (typeof command !== 'string') return run([...command])
  try {
    return await run(['bash', '-c', command])
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_request') throw error
    return run(['sh', '-c', command])
  }
}

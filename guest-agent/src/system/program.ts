import { spawn } from 'node:child_process'
import { once } from 'node:events'

type ProgramOptions = { readonly timeoutMs: number; readonly signal?: AbortSignal }

/** Runs a system program. Rejects if it fails or does not end in time. */
export async function runProgram(
  file: string,
  args: readonly string[],
  { timeoutMs, signal }: ProgramOptions,
): Promise<void> {
  const limit = AbortSignal.timeout(timeoutMs)
  const child = spawn(file, args, {
    stdio: 'ignore',
    killSignal: 'SIGKILL',
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  })
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null]
  if (code !== 0) throw new Error(`${file} ended with ${code ?? killedBy}`)
}

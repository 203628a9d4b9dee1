import { ApiError } from '@computer/sdk'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

/**
 * Runs a program of the server on the same terminal, forwards signals and resolves to its exit code.
 * The server is found by its place in this repository: the published CLI does not include it.
 */
export async function runServerProgram(
  name: 'main-up.ts' | 'main-down.ts' | 'main-doctor.ts' | 'main-admin.ts',
  args: readonly string[] = [],
): Promise<number> {
  const path = fileURLToPath(new URL(`../../server/src/${name}`, import.meta.url))
  if (!existsSync(path)) {
    const message =
      'this command needs the server itself: run it on the host of the server, as /usr/local/bin/computer'
    throw new ApiError('unsupported_operation', message)
  }
  const child = spawn(process.execPath, [path, ...args], { stdio: 'inherit' })
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, forward)
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  for (const each of signals) process.off(each, forward)
  return code ?? 128 + (signal ? constants.signals[signal] : 0)
}

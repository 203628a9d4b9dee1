import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

/**
 * Runs a program of the server beside us on the same terminal, passes on the signals we get and
 * resolves to its exit code. The server is a neighbour in this repository, never a dependency.
 */
export async function runServerProgram(
  name: 'main-up.ts' | 'main-down.ts' | 'main-doctor.ts' | 'main-admin.ts',
  args: readonly string[] = [],
): Promise<number> {
  const path = fileURLToPath(new URL(`../../server/src/${name}`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: 'inherit' })
  const passOn = (signal: NodeJS.Signals) => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, passOn)
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  for (const each of signals) process.off(each, passOn)
  return code ?? 128 + (signal ? constants.signals[signal] : 0)
}

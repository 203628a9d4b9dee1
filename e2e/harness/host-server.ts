import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiClient, type ApiClient } from './api.ts'
import { eventually } from './polling.ts'

/* A server that runs with `computer up`, as its operator starts it. */

const main = join(import.meta.dirname, '..', '..', 'cli', 'src', 'main.ts')
/** The first start unpacks the image. */
const startBoundMs = 300_000

export type HostServer = { readonly child: ChildProcess; output(): string }

/** Runs `computer up` until the server is up. Throws with its output if it ends before. */
export async function startHostServer(env: NodeJS.ProcessEnv): Promise<HostServer> {
  return waitUntilUp(launchComputer(env, ['up']))
}

export async function waitUntilUp({ child, output }: HostServer): Promise<HostServer> {
  const isUp = async () => {
    if (child.exitCode !== null) throw new Error(`the server ended:\n${output()}`)
    return output().includes('Press Ctrl-C to stop')
  }
  await eventually('the server is up', isUp, { withinMs: startBoundMs })
  return { child, output }
}

/** Calls the server with the owner's key of a data folder. */
export async function ownerClient(env: NodeJS.ProcessEnv, dataDir: string): Promise<ApiClient> {
  return callAsOwner(`http://127.0.0.1:${env['COMPUTER_API_PORT']}`, dataDir)
}

/** Calls an API of the server. */
export async function callAsOwner(baseUrl: string, dataDir: string): Promise<ApiClient> {
  return createApiClient(baseUrl, (await readFile(join(dataDir, 'owner.key'), 'utf8')).trim())
}

export async function endHostServer({ child }: HostServer, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Runs a command of `computer` to its end. */
export async function runComputer(
  env: NodeJS.ProcessEnv,
  ...args: readonly string[]
): Promise<{ code: number | null; output: string }> {
  const { child, output } = launchComputer(env, args)
  await once(child, 'close')
  return { code: child.exitCode, output: output() }
}

/** Starts a command of `computer`. */
export function launchComputer(env: NodeJS.ProcessEnv, args: readonly string[]): HostServer {
  const [program, ...rest] = computerCommand(args)
  return watchOutput(spawn(program!, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** The command line of a command of `computer`, for a host that starts it itself. */
export function computerCommand(args: readonly string[]): readonly string[] {
  return [process.execPath, main, ...args]
}

/** Collects what a process prints. */
export function watchOutput(child: ChildProcess): HostServer {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (part: string) => (text += part))
  }
  return { child, output: () => text }
}

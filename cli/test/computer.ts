import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { startServer } from '../../sdk/test/server.ts'

export const main = join(import.meta.dirname, '..', 'src', 'main.ts')

export type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
export type RunOptions = {
  readonly stdin?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
}

/** A server over the fake engine, and the command line as a program of its own beside it. */
export async function startComputer(...[t, options]: Parameters<typeof startServer>) {
  const server = await startServer(t, options)
  const folder = await mkdtemp(join(tmpdir(), 'computer-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const plain = { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'xterm-256color' }
  /** Without a key. */
  const outside = { ...plain, COMPUTER_GATEWAY_URL: server.gatewayUrl }
  const env = { ...outside, COMPUTER_API_KEY: server.key, COMPUTER_BASE_URL: server.baseUrl }

  async function runIn(environment: Record<string, string>, args: string[], options: RunOptions) {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: folder,
      env: { ...environment, ...options.env },
      timeout: 60_000,
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.stdin ?? '')
    const output = Promise.all([buffer(child.stdout), buffer(child.stderr)])
    const [code] = (await once(child, 'close')) as [number | null]
    const [stdout, stderr] = await output
    return { code, stdout: stdout.toString(), stderr: stderr.toString(), bytes: stdout }
  }

  return {
    server,
    /** Its home and where its commands run. */
    folder,
    env,
    run: (args: string[], options: RunOptions = {}) => runIn(env, args, options),
    /** As somebody whom the environment gives no key. */
    runOutside: (args: string[], options: RunOptions = {}) => runIn(outside, args, options),
    /** What it prints as JSON; it has to succeed. */
    // Looked at field by field in the tests.
    // oxlint-disable-next-line typescript/no-explicit-any
    async json(...args: string[]): Promise<any> {
      const { code, stdout, stderr } = await runIn(env, [...args, '--json'], {})
      if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { startServer } from '../../sdk/test/server.ts'
import { buildCli } from '../build.ts'

/** The Node that runs the CLI. Set COMPUTER_TEST_NODE to test against Node 20, which it supports. */
export const node = process.env['COMPUTER_TEST_NODE'] ?? process.execPath

type RunOptions = {
  readonly stdin?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
}
/** A running command. `ended` carries its whole output. */
export type Running = {
  readonly child: ChildProcess
  readonly ended: Promise<{
    readonly code: number | null
    readonly stdout: string
    readonly stderr: string
    /** Standard output, undecoded. */
    readonly bytes: Buffer
  }>
}

/** Starts a server over the fake engine, and builds the CLI as it is published. */
export async function startComputer(...[t, options]: Parameters<typeof startServer>) {
  const server = await startServer(t, options)
  const folder = await mkdtemp(join(tmpdir(), 'computer-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const main = join(folder, 'package/dist/main.js')
  await buildCli(join(folder, 'package'))
  const { PATH = '' } = process.env
  const outside = { PATH, HOME: folder, TERM: 'xterm', COMPUTER_GATEWAY_URL: server.gatewayUrl }
  const env = { ...outside, COMPUTER_API_KEY: server.key, COMPUTER_BASE_URL: server.baseUrl }

  function start(args: readonly string[], options: RunOptions = {}, base = env): Running {
    const child = spawn(node, [main, ...args], {
      cwd: folder,
      env: { ...base, ...options.env },
      timeout: 60_000,
    })
    child.stdin.on('error', () => {})
    if (options.stdin !== undefined) child.stdin.end(options.stdin)
    return { child, ended: finish(child) }
  }

  const run = (args: readonly string[], options: RunOptions = {}) =>
    start(args, { stdin: '', ...options }).ended

  return {
    server,
    /** Home and working folder of the commands. */
    folder,
    main,
    env,
    /** Starts a command. Its standard input stays open unless `stdin` is given. */
    start,
    run,
    /** Runs a command without an API key in its environment. */
    runOutside: (args: readonly string[], options: RunOptions = {}) =>
      start(args, { stdin: '', ...options }, outside as typeof env).ended,
    /** Runs a command with --json, which must succeed. */
    // The tests assert on single fields.
    // oxlint-disable-next-line typescript/no-explicit-any
    async json(...args: readonly string[]): Promise<any> {
      const { code, stdout, stderr } = await run([...args, '--json'])
      if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}

async function finish(child: ChildProcess): Running['ended'] {
  const output = Promise.all([buffer(child.stdout!), buffer(child.stderr!)])
  const [code] = (await once(child, 'close')) as [number | null]
  const [bytes, stderr] = await output
  return { code, bytes, stdout: bytes.toString(), stderr: stderr.toString() }
}

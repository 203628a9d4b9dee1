import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { startServer } from '../../sdk/test/server.ts'
import { buildCli } from '../build.ts'

/** What the command line runs on. It is to work on Node 20 too, which a host may have beside ours. */
export const node = process.env['COMPUTER_TEST_NODE'] ?? process.execPath

export type RunOptions = {
  readonly stdin?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
}
/** A command that runs: what it wrote is there once it has ended. */
export type Running = {
  readonly child: ChildProcess
  readonly ended: Promise<{
    readonly code: number | null
    readonly stdout: string
    readonly stderr: string
    /** Standard output as it came. */
    readonly bytes: Buffer
  }>
}

/** A server over the fake engine, and beside it the command line as it is published. */
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
    /** Its home, where its commands run. */
    folder,
    main,
    env,
    /** Without the end of standard input, unless it is given. */
    start,
    run,
    /** As somebody whom the environment gives no key. */
    runOutside: (args: readonly string[], options: RunOptions = {}) =>
      start(args, { stdin: '', ...options }, outside as typeof env).ended,
    /** What it prints as JSON; it has to succeed. */
    // Looked at field by field in the tests.
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

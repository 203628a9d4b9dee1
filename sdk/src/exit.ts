import type { ClosingRequest } from './own-session.ts'
import type { CallOptions } from './options.ts'
import { abortable } from './retry.ts'

/*
 * Closes the sessions of a program that ends, because an abandoned session keeps its input lease until
 * that expires. The program decides when it ends: see docs/decisions/0020-closing-sessions.md.
 *
 * - A signal whose only listener is ours would have ended the program. It still does, as soon as the
 *   sessions are closed, and a second one ends it at once. Until then the program's own calls for input
 *   stay pending, so that it neither opens another session nor reports that the first was closed. If the
 *   program has a listener, ours does nothing.
 * - A program with nothing left to do goes on until the sessions are closed.
 * - After `process.exit()` or an uncaught error only synchronous work is possible, so in Node a worker
 *   thread sends the requests while the main thread waits for it.
 */

/** What has open sessions: a `Computer`. */
export type SessionOwner = {
  closeSessions(options: CallOptions): Promise<void>
  closingRequests(): readonly ClosingRequest[]
}

/** Then the program ends nevertheless, and the leases expire. */
const timeoutMs = 2_000
const signals = ['SIGINT', 'SIGTERM'] as const
type Signal = (typeof signals)[number]
const owners = new Set<SessionOwner>()
let isEnding = false

/** Closes the owner's sessions when the program ends. Does nothing in a browser. */
export function closeOnExit(owner: SessionOwner): void {
  owners.add(owner)
  update()
}

/** The owner has no open sessions any more. */
export function forgetOnExit(owner: SessionOwner): void {
  owners.delete(owner)
  update()
}

/** Stays pending while a signal ends the program, which then has nothing left to do. */
export async function unlessEnding(): Promise<void> {
  if (isEnding) await new Promise<never>(() => {})
}

/** Listens while there are open sessions. Listeners do not keep a program running. */
function update(): void {
  const program = findProgram()
  if (!program) return
  for (const signal of signals) {
    program.off(signal, endBySignal)
    // First, so that others see only each other when they count the listeners.
    if (owners.size > 0 && !isEnding) program.prependListener(signal, endBySignal)
  }
  program.off('beforeExit', closeAll)
  program.off('exit', closeNow)
  if (owners.size === 0) return
  program.on('beforeExit', closeAll)
  program.on('exit', closeNow)
}

function endBySignal(signal: Signal): void {
  const program = findProgram()!
  program.off(signal, endBySignal)
  // The program, or another library, decides; after its listeners have run, ours is there again.
  if (program.listenerCount(signal) > 0) return void setTimeout(update, 0)
  isEnding = true
  void closeAll().then(() => {
    isEnding = false
    endWith(program, signal)
  })
}

/** Ends the program as the signal would have, so that a shell sees why. */
function endWith(program: Program, signal: Signal): void {
  try {
    program.kill(program.pid, signal)
  } catch {
    // Deno allows it only with a permission.
    program.exit(signal === 'SIGINT' ? 130 : 143)
  }
}

/** Never rejects. */
async function closeAll(): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs)
  const closing = [...owners].map((owner) => owner.closeSessions({ signal }))
  await abortable(Promise.allSettled(closing), signal).catch(() => {})
}

function closeNow(): void {
  const requests = [...owners].flatMap((owner) => owner.closingRequests())
  const isNode = !('Bun' in globalThis || 'Deno' in globalThis)
  const threads = isNode && findProgram()?.getBuiltinModule?.('node:worker_threads')
  if (requests.length === 0 || !threads) return
  try {
    const done = new Int32Array(new SharedArrayBuffer(4))
    // Without the flags of the program, which may load modules or change how the code is read.
    const options = { eval: true, execArgv: [], workerData: { requests, done } } as const
    new threads.Worker(sendRequests, options)
    Atomics.wait(done, 0, 0, timeoutMs)
  } catch {
    // The leases expire.
  }
}

const sendRequests = `
const { requests, done } = require('node:worker_threads').workerData
const sent = requests.map(({ url, headers }) => fetch(url, { method: 'DELETE', headers }))
Promise.allSettled(sent).then(() => {
  Atomics.store(done, 0, 1)
  Atomics.notify(done, 0)
})`

/** The process of Node, Deno or Bun. Bundlers put objects without events into pages. */
function findProgram(): Program | undefined {
  const { process } = globalThis as { process?: Program }
  return process?.versions?.node ? process : undefined
}

type Program = {
  readonly pid: number
  readonly versions?: { readonly node?: string }
  on(event: string, listener: () => unknown): void
  off(event: string, listener: (signal: Signal) => unknown): void
  prependListener(event: Signal, listener: (signal: Signal) => void): void
  listenerCount(event: string): number
  kill(pid: number, signal: Signal): void
  exit(code: number): void
  /** Not in Node before 20.16. */
  getBuiltinModule?(name: 'node:worker_threads'): {
    readonly Worker: new (
      code: string,
      options: {
        readonly eval: true
        readonly execArgv: readonly string[]
        readonly workerData: unknown
      },
    ) => unknown
  }
}

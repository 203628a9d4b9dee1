import { ApiError, type Machine } from '@computer/sdk'
import { once } from 'node:events'
import { connect, findMachine } from '../client.ts'
import { clientCommand, collectPair, examples } from '../command.ts'
import { argv, failAs255, userFlag } from './remote-command.ts'

export const exec = clientCommand('exec')
  .description('Run a command in a machine, show what it writes as it comes, end as it ends.')
  .argument('<machine>', 'its id or name')
  .argument('<command...>', 'the program and its arguments; no shell looks at them')
  .addOption(userFlag())
  .option('-w, --cwd <folder>', "where to run it (default: the user's home)")
  .option('-e, --env <key=value>', 'a variable; may be repeated', collectPair)
  .option('-n, --no-stdin', 'do not read standard input')
  .passThroughOptions()
  .addHelpText(
    'after',
    `
Standard input goes to the command unless it is a terminal: \`computer shell\` is for those.
Ctrl-C interrupts the command, a second one terminates it and a third kills it. The exit
code is the command's own, or 255 if it could not be run.
${examples(
  'computer exec first uname -a',
  'computer exec -w project first sh -c "make && make test"',
  'computer exec first sort < names.txt',
)}`,
  )
  .action(async (ref, command, options) =>
    failAs255(async () => {
      await using computer = await connect(options)
      const machine = await findMachine(computer, ref)
      const { user, cwd, env } = options
      using signals = holdSignals()
      const { id } = await machine.processes.start(argv(command), { user, cwd, env })
      signals.passTo((signal) => void machine.processes.signal(id, signal).catch(() => {}))
      process.exitCode = await follow(machine, id, { stdin: options.stdin })
    }),
  )

/** Resolves to its exit code once it has exited and all it wrote is shown. */
async function follow(
  machine: Machine,
  id: string,
  { stdin }: { readonly stdin: boolean },
): Promise<number> {
  const ending = new AbortController()
  const { promise: failed, reject } = promiseToFail()
  try {
    const reads = stdin && !process.stdin.isTTY
    void sendInput(machine, id, { reads, signal: ending.signal }).catch(reject)
    const shown = Promise.all([show(machine, id, 'stdout'), show(machine, id, 'stderr')])
    await Promise.race([shown, failed])
    const { exitCode } = await machine.processes.wait(id)
    return exitCode ?? 1
  } catch (error) {
    await machine.processes.signal(id, 'SIGTERM').catch(() => {})
    throw error
  } finally {
    ending.abort()
    process.stdin.destroy()
  }
}

async function show(machine: Machine, id: string, stream: 'stdout' | 'stderr'): Promise<void> {
  for (let offset = 0; ;) {
    const query = { stream, offset, encoding: 'base64', wait: 60 } as const
    const piece = await machine.processes.readLog(id, query)
    if (piece.offset > offset)
      console.error(`[${piece.offset - offset} bytes came too fast, and are lost]`)
    const bytes = Buffer.from(piece.content, 'base64')
    const isRoomy = bytes.length === 0 || process[stream].write(bytes)
    if (piece.eof) return
    if (!isRoomy) await once(process[stream], 'drain')
    offset = piece.nextOffset
  }
}

const pieceBytes = 256 * 1024

async function sendInput(
  machine: Machine,
  id: string,
  { reads, signal }: { readonly reads: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    if (reads) {
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
        for (let from = 0; from < chunk.length; from += pieceBytes) {
          const piece = chunk.subarray(from, from + pieceBytes)
          const text = decoder.decode(piece, { stream: true })
          await machine.processes.write(id, text, { signal })
        }
      }
    }
    await machine.processes.write(id, decoder.decode(), { eof: true, signal })
  } catch (error) {
    if (signal.aborted) return
    // It has exited, or does not read: what it has to say about that is in its output.
    const isOver = error instanceof ApiError && /^(conflict|not_found)$/.test(error.code)
    if (isOver) return
    if (!(error instanceof TypeError)) throw error
    const message = 'standard input is not text: copy it with `computer cp - MACHINE:PATH`'
    throw new ApiError('invalid_request', message, { cause: error })
  }
}

const interrupts = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const
type Sent = (typeof interrupts)[number] | 'SIGHUP' | 'SIGQUIT'

/** Signals that come while the command is being started wait until it can have them. */
function holdSignals(): Disposable & { passTo(send: (signal: Sent) => void): void } {
  const waiting: Sent[] = []
  let pass: (signal: Sent) => void = (signal) => waiting.push(signal)
  let count = 0
  const interrupt = () => {
    if (count === interrupts.length) process.exit(130)
    pass(interrupts[count++]!)
  }
  const listeners = (['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).map((signal) => {
    return [signal, () => pass(signal)] as const
  })
  process.on('SIGINT', interrupt)
  for (const [signal, listener] of listeners) process.on(signal, listener)
  return {
    passTo(send) {
      pass = send
      for (const signal of waiting.splice(0)) send(signal)
    },
    [Symbol.dispose]() {
      process.off('SIGINT', interrupt)
      for (const [signal, listener] of listeners) process.off(signal, listener)
    },
  }
}

function promiseToFail() {
  let reject!: (error: Error) => void
  const promise = new Promise<never>((_, fail) => (reject = fail))
  promise.catch(() => {})
  return { promise, reject }
}

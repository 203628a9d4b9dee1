import { ApiError, type Machine } from '@computer/sdk'
import { once } from 'node:events'
import { connect, findMachine } from '../client.ts'
import { clientCommand, collectPair, examples } from '../command.ts'
import { argv, failAs255, userFlag } from './remote-command.ts'

export const exec = clientCommand('exec')
  .description('Run a command in a machine, streaming its output, and exit with its exit code.')
  .argument('<machine>', 'machine ID or name')
  .argument('<command...>', 'program and arguments, run without a shell')
  .addOption(userFlag())
  .option('-w, --cwd <folder>', "working folder (default: the user's home)")
  .option('-e, --env <key=value>', 'set an environment variable; may be repeated', collectPair)
  .option('-n, --no-stdin', 'do not read standard input')
  .passThroughOptions()
  .addHelpText(
    'after',
    `
Standard input is sent to the command unless it is a terminal; use \`computer shell\` for
interactive programs. Ctrl-C interrupts the command, a second one terminates it and a third
kills it. The exit code is the command's own, or 255 if it could not be run.
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
      using signals = queueSignals()
      const { id } = await machine.processes.start(argv(command), { user, cwd, env })
      signals.forwardTo((signal) => void machine.processes.signal(id, signal).catch(() => {}))
      process.exitCode = await follow(machine, id, { stdin: options.stdin })
    }),
  )

/** Resolves to the exit code once the command has exited and all of its output is shown. */
async function follow(
  machine: Machine,
  id: string,
  { stdin }: { readonly stdin: boolean },
): Promise<number> {
  const stopInput = new AbortController()
  const { promise: failed, reject } = promiseToFail()
  try {
    const hasInput = stdin && !process.stdin.isTTY
    void sendInput(machine, id, { hasInput, signal: stopInput.signal }).catch(reject)
    const shown = Promise.all([show(machine, id, 'stdout'), show(machine, id, 'stderr')])
    await Promise.race([shown, failed])
    const { exitCode } = await machine.processes.wait(id)
    return exitCode ?? 1
  } catch (error) {
    await machine.processes.signal(id, 'SIGTERM').catch(() => {})
    throw error
  } finally {
    stopInput.abort()
    process.stdin.destroy()
  }
}

async function show(machine: Machine, id: string, stream: 'stdout' | 'stderr'): Promise<void> {
  for (let offset = 0; ;) {
    const query = { stream, offset, encoding: 'base64', wait: 60 } as const
    const chunk = await machine.processes.readLog(id, query)
    if (chunk.offset > offset)
      console.error(`[${chunk.offset - offset} bytes of output were dropped: too fast to read]`)
    const bytes = Buffer.from(chunk.content, 'base64')
    const hasRoom = bytes.length === 0 || process[stream].write(bytes)
    if (chunk.eof) return
    if (!hasRoom) await once(process[stream], 'drain')
    offset = chunk.nextOffset
  }
}

const maxWriteBytes = 256 * 1024

async function sendInput(
  machine: Machine,
  id: string,
  { hasInput, signal }: { readonly hasInput: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    if (hasInput) {
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
        for (let from = 0; from < chunk.length; from += maxWriteBytes) {
          const part = chunk.subarray(from, from + maxWriteBytes)
          const text = decoder.decode(part, { stream: true })
          await machine.processes.write(id, text, { signal })
        }
      }
    }
    await machine.processes.write(id, decoder.decode(), { eof: true, signal })
  } catch (error) {
    if (signal.aborted) return
    // The command has exited or closed its input; its own output says why if it matters.
    const isClosed = error instanceof ApiError && /^(conflict|not_found)$/.test(error.code)
    if (isClosed) return
    if (!(error instanceof TypeError)) throw error
    const message =
      'standard input is not UTF-8 text; copy binary data with `computer cp - MACHINE:PATH`'
    throw new ApiError('invalid_request', message, { cause: error })
  }
}

const interrupts = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const
type Forwarded = (typeof interrupts)[number] | 'SIGHUP' | 'SIGQUIT'

/** Queues signals that arrive while the command starts, then forwards them. */
function queueSignals(): Disposable & { forwardTo(send: (signal: Forwarded) => void): void } {
  const queued: Forwarded[] = []
  let forward: (signal: Forwarded) => void = (signal) => queued.push(signal)
  let count = 0
  const interrupt = () => {
    if (count === interrupts.length) process.exit(130)
    forward(interrupts[count++]!)
  }
  const listeners = (['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).map((signal) => {
    return [signal, () => forward(signal)] as const
  })
  process.on('SIGINT', interrupt)
  for (const [signal, listener] of listeners) process.on(signal, listener)
  return {
    forwardTo(send) {
      forward = send
      for (const signal of queued.splice(0)) send(signal)
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

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { IncusClient } from '../../server/src/drivers/incus/client.ts'

export type GuestResult = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Marks the end of a program's output by a word, and waits to be disconnected: on a busy host, the engine
 * loses what a program writes just before its end.
 */
const untilRead = `word=$1; shift; : | "$@"; code=$?
printf '%s %d.' "$word" $code; printf '%s 0.' "$word" >&2; read -r _`

/** Runs a program as root in a guest through the engine's own exec, without the agent. */
export async function runInGuest(
  client: IncusClient,
  target: { readonly project: string; readonly instance: string },
  program: readonly string[],
): Promise<GuestResult> {
  const word = randomUUID()
  const command = ['sh', '-c', untilRead, 'sh', word, ...program]
  const operation = await client.begin(
    `/1.0/instances/${target.instance}/exec`,
    { command, 'wait-for-websocket': true, interactive: false, environment: {} },
    { project: target.project },
  )
  const secrets = operation.metadata?.['fds'] as Readonly<Record<string, string>>
  const open = (fd: string) =>
    client.socket(`/1.0/operations/${operation.id}/websocket`, { secret: secrets[fd]! })
  // The program starts when all others are open.
  const control = open('control')
  const sockets = [control]
  const end = () => {
    for (const socket of sockets) socket.terminate()
  }
  // The engine may never end the call of a guest that went down during it.
  const limit = setTimeout(end, callWithinMs)
  try {
    await opened(control)
    const [input, stdout, stderr] = [open('0'), open('1'), open('2')]
    sockets.push(input, stdout, stderr)
    input.on('error', () => {})
    const [output, errors] = await Promise.all([
      readUntil(stdout, word),
      readUntil(stderr, word),
      opened(input),
    ])
    return { code: output.code, stdout: output.text, stderr: errors.text }
  } finally {
    clearTimeout(limit)
    end()
  }
}

const callWithinMs = 300_000
const bootWithinMs = 60_000

/**
 * Runs a shell script as root once the guest has booted. A guest that is about to boot refuses programs,
 * and one that reboots kills them, so the script may run more than once.
 */
export async function runWhenBooted(
  client: IncusClient,
  target: { readonly project: string; readonly instance: string },
  script: string,
): Promise<GuestResult> {
  const command = ['sh', '-c', `test -S /run/systemd/private || exit 75; ${script}`]
  const deadline = Date.now() + bootWithinMs
  for (;;) {
    const result = await runInGuest(client, target, command).catch(() => undefined)
    const isInterrupted = !result || result.code === 75 || result.code < 0 || result.code > 128
    if (!isInterrupted) return result
    if (Date.now() > deadline) throw new Error(`${target.instance} did not boot`)
    await sleep(50)
  }
}

function readUntil(socket: WebSocket, word: string): Promise<{ text: string; code: number }> {
  const mark = new RegExp(`${word} (\\d+)\\.`)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    socket.on('message', (data: Buffer) => {
      chunks.push(data)
      const all = Buffer.concat(chunks).toString('utf8')
      const found = mark.exec(all)
      if (found) resolve({ text: all.slice(0, found.index), code: Number(found[1]) })
    })
    socket.on('close', () => reject(new Error('the output of the program broke off')))
    socket.on('error', reject)
  })
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { IncusClient } from '../../server/src/drivers/incus/client.ts'

export type GuestResult = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program as root in a guest through the engine's own exec, without the agent. */
export async function runInGuest(
  client: IncusClient,
  target: { readonly project: string; readonly instance: string },
  command: readonly string[],
): Promise<GuestResult> {
  const operation = await client.begin(
    `/1.0/instances/${target.instance}/exec`,
    { command, 'wait-for-websocket': true, interactive: false, environment: {} },
    { project: target.project },
  )
  const secrets = operation.metadata?.['fds'] as Readonly<Record<string, string>>
  const open = (fd: string) =>
    client.socket(`/1.0/operations/${operation.id}/websocket`, { secret: secrets[fd]! })
  // The program starts when all others are open, and may end before a late control socket opens.
  const control = open('control')
  const sockets = [control]
  try {
    await opened(control)
    const [input, stdout, stderr] = [open('0'), open('1'), open('2')]
    sockets.push(input, stdout, stderr)
    input.on('open', () => input.send('', { binary: false }))
    input.on('error', () => {})
    const output = await Promise.all([readAll(stdout), readAll(stderr)])
    const ended = await client.waitFor(operation, 60_000)
    return { code: Number(ended.metadata?.['return']), stdout: output[0], stderr: output[1] }
  } finally {
    for (const socket of sockets) socket.terminate()
  }
}

const bootWithinMs = 60_000

/**
 * Runs a shell script as root once the guest has booted. A guest that is about to boot refuses programs,
 * and one that boots may kill them or cut off their output, so the script may run more than once.
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

function readAll(socket: WebSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const end = () => resolve(Buffer.concat(chunks).toString('utf8'))
    // A text message marks the end of the output.
    socket.on('message', (data: Buffer, isBinary) => (isBinary ? chunks.push(data) : end()))
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

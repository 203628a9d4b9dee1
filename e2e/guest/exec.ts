import type { WebSocket } from 'ws'
import type { IncusClient } from '../../server/src/drivers/incus/client.ts'

export type GuestResult = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program as root in a guest by the engine's own exec, without our agent. */
export async function runInGuest(
  client: IncusClient,
  place: { readonly project: string; readonly instance: string },
  command: readonly string[],
): Promise<GuestResult> {
  const operation = await client.begin(
    `/1.0/instances/${place.instance}/exec`,
    { command, 'wait-for-websocket': true, interactive: false, environment: {} },
    { project: place.project },
  )
  const secrets = operation.metadata?.['fds'] as Readonly<Record<string, string>>
  const open = (fd: string) =>
    client.socket(`/1.0/operations/${operation.id}/websocket`, { secret: secrets[fd]! })
  // The program starts with the last of the others, and may end before a late control could open.
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

function readAll(socket: WebSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const end = () => resolve(Buffer.concat(chunks).toString('utf8'))
    socket.on('message', (data: Buffer, isBinary) => (isBinary ? chunks.push(data) : end()))
    socket.on('close', end)
    socket.on('error', reject)
  })
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
}

import { guestSocketPath } from '@computer/contract'
import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { IncusClient } from '../client.ts'
import { EngineError } from '../replies.ts'

/**
 * A byte stream to the agent's socket through the engine's exec, with `socat` inside the machine as the
 * bridge. It involves no path or port of the host, so the guest cannot redirect it.
 *
 * The bridge waits for the socket, so a stream can be opened while the machine still boots. The engine
 * ends the bridge when the sockets of its exec close.
 */
export async function openAgentStream(
  client: IncusClient,
  instance: string,
  project: string,
): Promise<Duplex> {
  const exec = await client.begin(
    `/1.0/instances/${instance}/exec`,
    { command: bridge, 'wait-for-websocket': true, interactive: false, environment: {}, cwd: '/' },
    { project },
  )
  const secrets = exec.metadata?.['fds'] as Readonly<Record<Channel, string>>
  const open = (fd: Channel) =>
    client.socket(`/1.0/operations/${exec.id}/websocket`, { secret: secrets[fd] })
  const sockets = { 0: open('0'), 1: open('1'), 2: open('2'), control: open('control') }
  // The stream adds its listeners before the sockets open, so that it misses no message.
  const stream = new AgentStream(sockets)
  // The caller has no listener yet; errors until then surface as the rejection below.
  stream.on('error', () => {})
  try {
    await Promise.all(Object.values(sockets).map(opened))
    return stream
  } catch (cause) {
    stream.destroy()
    throw new EngineError(`could not open a stream to ${instance}: ${(cause as Error).message}`, {
      status: 503,
      cause,
    })
  }
}

/** Retries for a minute, longer than a boot takes. After our end it waits for the agent's response. */
const bridge = [
  'socat',
  '-b',
  '65536',
  '-t',
  '30',
  '-',
  `UNIX-CONNECT:${guestSocketPath},retry=3000,interval=0.02`,
]

type Channel = '0' | '1' | '2' | 'control'
type Sockets = Readonly<Record<Channel, WebSocket>>

class AgentStream extends Duplex {
  readonly #sockets: Sockets
  #errorOutput = ''
  #received = false

  constructor(sockets: Sockets) {
    super({ allowHalfOpen: true, highWaterMark: 256 * 1024 })
    this.#sockets = sockets
    for (const socket of Object.values(sockets)) {
      socket.binaryType = 'nodebuffer'
      socket.on('error', (error) => this.destroy(lost(error.message)))
    }
    sockets['1'].on('message', (data: Buffer, isBinary) => {
      // A text frame is the end of the output.
      if (!isBinary) return this.#endReading()
      this.#received = true
      if (!this.push(data)) sockets['1'].pause()
    })
    sockets['2'].on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#errorOutput = (this.#errorOutput + data.toString('utf8')).slice(-1000)
    })
    // The engine closes its sockets when the bridge has ended, and then nothing can be written.
    for (const fd of ['0', '1'] as const) {
      sockets[fd].on('close', () => {
        this.#endReading()
        if (this.readableEnded) this.destroy()
        else this.once('end', () => this.destroy())
      })
    }
  }

  override _read(): void {
    this.#sockets['1'].resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#sockets['0'].send(chunk, { binary: true }, (error) => {
      done(error ? lost(error.message) : null)
    })
  }

  override _final(done: (error?: Error | null) => void): void {
    // Any text frame closes the bridge's input.
    this.#sockets['0'].send('', { binary: false }, () => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const socket of Object.values(this.#sockets)) socket.terminate()
    done(error)
  }

  #endReading(): void {
    if (this.readableEnded || this.destroyed) return
    if (this.#received || this.#errorOutput === '') this.push(null)
    else this.destroy(lost(this.#errorOutput.trim()))
  }
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed before it opened')))
  })
}

function lost(why: string): EngineError {
  return new EngineError(`the stream to the agent ended: ${why}`, { status: 503 })
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { WebSocket } from 'ws'
import { startDisplay } from '../../guest-agent/test/x-display.ts'
import { openPainter } from '../../guest-agent/test/x-painter.ts'
import { GatewayClient } from '../../server/test/gateway.ts'
import { RfbClient } from '../../server/test/rfb-client.ts'
import { messages, rfb } from '../../server/test/rfb-messages.ts'
import { eventually } from './polling.ts'

type Parts = {
  readonly gateway: GatewayClient
  /** The display of the viewer: what a person sees, and their keyboard and mouse. */
  readonly display: RfbClient
  readonly windows: Awaited<ReturnType<typeof openPainter>>
  /** The bytes that the viewer has sent to the gateway. */
  readonly sent: readonly Buffer[]
  readonly resources: AsyncDisposableStack
}

/** Without a window manager, the viewer leaves this much for the frame of its window. */
const corner = { x: 1, y: 20 } as const

/**
 * TigerVNC's own viewer on a display of its own. It speaks RFB over TCP, which this passes on to the gateway
 * in a WebSocket.
 */
export class TigervncViewer implements AsyncDisposable {
  readonly #parts: Parts

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  get gateway(): GatewayClient {
    return this.#parts.gateway
  }

  static async open(screenUrl: string, authorization: string): Promise<TigervncViewer> {
    await using stack = new AsyncDisposableStack()
    const home = await mkdtemp(join(tmpdir(), 'computer-viewer-'))
    stack.defer(() => rm(home, { recursive: true, force: true }))
    const { xSocketPath, rfbSocketPath } = stack.use(await startDisplay('1400x900'))
    const display = await showDisplay(rfbSocketPath, stack)
    const windows = stack.use(await openPainter(xSocketPath))

    const gateway = new GatewayClient(new WebSocket(screenUrl, { headers: { authorization } }))
    stack.defer(() => gateway.socket.terminate())
    await gateway.opened
    const sent: Buffer[] = []
    const rfbPort = await listen(stack, (viewer) => passRfb(viewer, gateway, sent))
    // The X library of Debian 12 takes no path as a display.
    const xPort = await listen(stack, (viewer) => {
      const xServer = connect(xSocketPath).on('error', () => viewer.destroy())
      viewer.pipe(xServer).pipe(viewer)
    })
    const options = ['-SecurityTypes=None', '-geometry=1280x800+0+0', '-AlertOnFatalError=0']
    const child = spawn('vncviewer', [...options, `127.0.0.1::${rfbPort}`], {
      env: { PATH: process.env['PATH'], HOME: home, DISPLAY: `127.0.0.1:${xPort - 6000}` },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    stack.defer(async () => {
      child.kill('SIGKILL')
      await ended
    })
    return new TigervncViewer({ gateway, display, windows, sent, resources: stack.move() })
  }

  /** Resolves once the viewer has sent the keys. */
  async type(text: string): Promise<void> {
    const keysyms = [...text].map(keysymOf)
    const last = keysyms.at(-1)!
    const times = keysyms.filter((keysym) => keysym === last).length
    await this.#whenSent(messages.key(last, false), times, () => {
      for (const keysym of keysyms) {
        this.#parts.display.key(keysym, true)
        this.#parts.display.key(keysym, false)
      }
    })
  }

  /** Clicks at a point of the machine's screen. Resolves once the viewer has sent it and has the keyboard. */
  async click(x: number, y: number): Promise<void> {
    await this.#whenSent(messages.pointer(x, y, 1), 1, () => {
      for (const buttons of [0, 1, 0])
        this.#parts.display.pointer(corner.x + x, corner.y + y, buttons)
    })
    await this.#parts.windows.focusClicked()
  }

  async #whenSent(message: Buffer, times: number, act: () => void): Promise<void> {
    const before = this.#parts.sent.length
    act()
    await eventually('the viewer has sent it', async () => {
      const sent = Buffer.concat(this.#parts.sent.slice(before)).toString('latin1')
      return sent.split(message.toString('latin1')).length > times
    })
  }

  /** The part of the window that shows a screen of this size, as a PNG. */
  picture(width: number, height: number): Promise<Buffer> {
    const { rgb: pixels, width: wholeWidth, height: wholeHeight } = this.#parts.display
    const raw = { width: wholeWidth, height: wholeHeight, channels: 3 } as const
    const area = { left: corner.x, top: corner.y, width, height }
    return sharp(pixels, { raw }).extract(area).png().toBuffer()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.resources.disposeAsync()
  }
}

/** X.Org's rule: characters of Latin-1 are their own keysyms, all others have an offset. */
function keysymOf(character: string): number {
  const code = character.codePointAt(0)!
  return code < 0x100 ? code : 0x1000000 + code
}

async function showDisplay(path: string, stack: AsyncDisposableStack): Promise<RfbClient> {
  const socket = connect(path)
  stack.defer(() => void socket.destroy())
  const display = new RfbClient((bytes) => socket.write(bytes), { encodings: [rfb.raw] })
  socket.on('data', (bytes: Buffer) => display.receive(bytes))
  socket.once('close', () => display.end(new Error('the display of the viewer has gone')))
  socket.on('error', (error) => display.end(error))
  await display.until(({ isConnected }) => isConnected)
  return display
}

/** What the gateway sent before the viewer came is passed on first. */
function passRfb(viewer: Socket, { socket, frames }: GatewayClient, sent: Buffer[]): void {
  for (const frame of frames) if ('payload' in frame) viewer.write(frame.payload)
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) viewer.write(data)
  })
  viewer.on('data', (bytes) => {
    sent.push(bytes)
    socket.send(bytes, { binary: true })
  })
  socket.once('close', () => viewer.destroy())
}

/** Passes each connection to a port of the loopback address on. */
async function listen(
  stack: AsyncDisposableStack,
  onConnection: (socket: Socket) => void,
): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    // The viewer is killed at the end.
    socket.on('error', () => {})
    onConnection(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

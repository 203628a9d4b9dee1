import { toCamel } from './case.ts'
import type { Client } from './client.ts'
import type { Frame, Socket } from './gateway.ts'
import type { CallOptions } from './options.ts'
import type { InputLease, MachineState } from './wire/records.ts'

export type ScreenOptions = CallOptions & {
  /** Look alone: the session can never type or click. */
  readonly viewOnly?: boolean | undefined
  readonly onMessage?: ((message: ScreenMessage) => void) | undefined
}

/** What the server tells beside the picture. */
export type ScreenMessage =
  | { readonly type: 'ready'; readonly width: number; readonly height: number }
  | ({ readonly type: 'lease' } & InputLease)
  | { readonly type: 'lease_lost'; readonly fence: number }
  | { readonly type: 'machine'; readonly state: MachineState }

/**
 * The live screen of a machine, in the shape of a WebSocket that carries RFB 3.8 and nothing else: give
 * it to noVNC, `new RFB(element, screen)`, or to any RFB client. While this program holds the input
 * lease of the machine, what is typed and clicked there goes through.
 *
 * One connection is one conversation: when it closes, open another and begin a new one.
 */
export class Screen {
  onopen: ((event: { readonly type: 'open' }) => void) | null = null
  onclose:
    | ((event: {
        readonly code: number
        readonly reason: string
        readonly wasClean: boolean
      }) => void)
    | null = null
  onerror: ((event: unknown) => void) | null = null
  binaryType = 'arraybuffer'
  readonly protocol = ''
  readonly sessionId: string
  readonly #socket: Socket
  readonly #onMessage: ScreenOptions['onMessage']
  readonly #release: () => void
  #isClosed = false
  #listener: Listener | null = null
  #waiting: ArrayBuffer[] = []

  /** Use `machine.screen()`. */
  constructor(
    socket: Socket,
    sessionId: string,
    options: {
      readonly onMessage: ScreenOptions['onMessage']
      readonly onFence: (listener: (fence: number) => void) => () => void
      readonly onEnd: () => void
    },
  ) {
    this.#socket = socket
    this.sessionId = sessionId
    this.#onMessage = options.onMessage
    this.#release = options.onFence((fence) =>
      socket.send(JSON.stringify({ type: 'input_fence', fence })),
    )
    socket.deliver((frame) => this.#take(frame))
    void socket.closed.then((code) => {
      this.#release()
      this.#isClosed = true
      options.onEnd()
      this.onclose?.({ code, reason: '', wasClean: code === 1000 })
    })
  }

  get onmessage(): Listener | null {
    return this.#listener
  }
  /** The server speaks first: whoever listens is told what came before. */
  set onmessage(listener: Listener | null) {
    this.#listener = listener
    for (const data of listener ? this.#waiting.splice(0) : []) listener?.({ data })
  }

  get readyState(): number {
    if (this.#isClosed) return 3
    return this.#socket.isOpen ? 1 : 2
  }

  send(data: ArrayBuffer | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(data instanceof ArrayBuffer ? new Uint8Array(data) : data)
  }

  close(): void {
    this.#socket.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #take(frame: Frame): void {
    if (typeof frame === 'string') {
      this.#onMessage?.(toCamel(JSON.parse(frame)) as ScreenMessage)
      return
    }
    if (this.#listener) this.#listener({ data: frame.buffer })
    else this.#waiting.push(frame.buffer)
  }
}

type Listener = (event: { readonly data: ArrayBuffer }) => void

export async function openScreen(
  client: Client,
  machineId: string,
  { viewOnly = false, onMessage, signal }: ScreenOptions,
): Promise<Screen> {
  const { transport, gateway } = client
  const input = client.input(machineId)
  const session = viewOnly
    ? await transport.call(
        'POST /v1/sessions',
        { body: { machineId, type: 'view' }, creates: true },
        { signal },
      )
    : await input.session()
  const closeView = async () => {
    const params = { sessionId: session.id }
    if (viewOnly) await transport.call('DELETE /v1/sessions/{session_id}', { params })
  }
  try {
    const path = `/v1/machines/${machineId}/screen?session_id=${session.id}`
    const socket = await gateway.connect(path, signal)
    return new Screen(socket, session.id, {
      onMessage,
      onFence: (listener) => (viewOnly ? () => {} : input.onFence(listener)),
      // It ends by itself a day later if this does not reach the server.
      onEnd: () => void closeView().catch(() => {}),
    })
  } catch (error) {
    await closeView().catch(() => {})
    throw error
  }
}

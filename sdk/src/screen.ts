import { toCamel } from './case.ts'
import type { Client } from './client.ts'
import type { Frame, Socket } from './gateway.ts'
import type { CallOptions } from './options.ts'
import { PointerSender, type ScreenPointer } from './screen-pointer.ts'
import type { InputLease, MachineState, Point } from './wire/records.ts'

export type ScreenOptions = CallOptions & {
  /** Only look, without a session: nothing is typed or clicked, and no limit of sessions is used up. */
  readonly watch?: boolean | undefined
  /** Open a view-only session, which can never type or click. Others see it in the list of sessions. */
  readonly viewOnly?: boolean | undefined
  readonly onMessage?: ((message: ScreenMessage) => void) | undefined
}

export type GuestScreenOptions = Pick<ScreenOptions, 'onMessage' | 'signal'> & {
  /** URL of the real-time gateway. */
  readonly gatewayUrl: string
}

/** Messages of the server besides the RFB stream. */
export type ScreenMessage =
  | { readonly type: 'ready'; readonly width: number; readonly height: number }
  | ({ readonly type: 'lease' } & InputLease)
  | { readonly type: 'lease_lost'; readonly fence: number }
  | { readonly type: 'machine'; readonly state: MachineState }
  /** All pointers of others, on every change. */
  | { readonly type: 'pointers'; readonly pointers: readonly ScreenPointer[] }
  /** Every 5 seconds while the connection lives. */
  | { readonly type: 'tick' }

/**
 * The live screen of a machine as a WebSocket-like channel of plain RFB 3.8: pass it to noVNC,
 * `new RFB(element, screen)`, or to any RFB client. Input from the client takes effect while this
 * program holds the input lease.
 *
 * An RFB connection cannot be resumed: after it closes, open a new screen.
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
  /** Null for a screen that only watches. */
  readonly sessionId: string | null
  readonly #socket: Socket
  readonly #onMessage: ScreenOptions['onMessage']
  readonly #stopFences: () => void
  readonly #pointer: PointerSender
  #isClosed = false
  #listener: Listener | null = null
  #queued: ArrayBuffer[] = []

  /** Obtain screens from `machine.screen()`. */
  constructor(
    socket: Socket,
    sessionId: string | null,
    options: {
      readonly onMessage: ScreenOptions['onMessage']
      readonly onFence: (listener: (fence: number) => void) => () => void
      readonly onClosed: () => void
    },
  ) {
    this.#socket = socket
    this.sessionId = sessionId
    this.#onMessage = options.onMessage
    this.#stopFences = options.onFence((fence) =>
      socket.send(JSON.stringify({ type: 'input_fence', fence })),
    )
    this.#pointer = new PointerSender((at) => socket.send(JSON.stringify({ type: 'pointer', at })))
    socket.deliver((frame) => this.#receive(frame))
    void socket.closed.then((code) => {
      this.#stopFences()
      this.#isClosed = true
      this.#pointer.close()
      options.onClosed()
      this.onclose?.({ code, reason: '', wasClean: code === 1000 })
    })
  }

  get onmessage(): Listener | null {
    return this.#listener
  }
  /** Messages that arrived before the listener was set are delivered soon, as those of a WebSocket are. */
  set onmessage(listener: Listener | null) {
    this.#listener = listener
    if (listener && this.#queued.length > 0) queueMicrotask(() => this.#flush())
  }

  get readyState(): number {
    if (this.#isClosed) return 3
    return this.#socket.isOpen ? 1 : 2
  }

  send(data: ArrayBuffer | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(data instanceof ArrayBuffer ? new Uint8Array(data) : data)
  }

  /**
   * Shows the others on this screen where the own pointer is, as a pixel of the display; null once it has left the
   * screen. It needs no lease, and the machine is told nothing. Of calls in quick succession the last one counts.
   */
  point(at: Point | null): void {
    if (!this.#isClosed) this.#pointer.point(at)
  }

  close(): void {
    this.#socket.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #receive(frame: Frame): void {
    if (typeof frame === 'string') {
      this.#onMessage?.(toCamel(JSON.parse(frame)) as ScreenMessage)
      return
    }
    this.#queued.push(frame.buffer)
    this.#flush()
  }

  #flush(): void {
    while (this.#listener && this.#queued.length > 0)
      this.#listener({ data: this.#queued.shift()! })
  }
}

type Listener = (event: { readonly data: ArrayBuffer }) => void

export async function openScreen(
  client: Client,
  machineId: string,
  options: ScreenOptions,
): Promise<Screen> {
  const path = `/v1/machines/${machineId}/screen`
  const { watch = false, viewOnly = false, onMessage, signal } = options
  const onTick = () => onMessage?.({ type: 'tick' })
  if (watch) {
    // Others are closed with their session.
    const ending = AbortSignal.any(signal ? [signal, client.ending] : [client.ending])
    const socket = await client.gateway.connect(path, { signal: ending, onTick })
    return new Screen(socket, null, { onMessage, onFence: neverFence, onClosed: () => {} })
  }
  const input = client.input(machineId)
  const view = viewOnly ? await client.openSession(machineId, 'view', { signal }) : undefined
  const { id: sessionId } = await (view ? view.opened : input.session())
  // If this fails, the session expires a day later.
  const closeView = async () => view?.close().catch(() => {})
  try {
    const query = `?session_id=${sessionId}`
    const socket = await client.gateway.connect(path + query, { signal, onTick })
    return new Screen(socket, sessionId, {
      onMessage,
      onFence: viewOnly ? neverFence : (listener) => input.onFence(listener),
      onClosed: () => void closeView(),
    })
  } catch (error) {
    await closeView()
    throw error
  }
}

/** The screen of the guest of a help request, who has this session and this lease. */
export async function openGuestScreen(
  client: Client,
  { sessionId, lease }: { readonly sessionId: string; readonly lease: InputLease },
  { gatewayUrl, onMessage, signal }: GuestScreenOptions,
): Promise<Screen> {
  const path = `/v1/machines/${lease.machineId}/screen?session_id=${sessionId}`
  const onTick = () => onMessage?.({ type: 'tick' })
  const socket = await client.gateway.connect(path, { signal, onTick, guestUrl: gatewayUrl })
  const onFence = (listener: (fence: number) => void) => {
    listener(lease.fence)
    return () => {}
  }
  return new Screen(socket, sessionId, { onMessage, onFence, onClosed: () => {} })
}

/** A screen that sends no input has no fences to name. */
const neverFence = () => () => {}

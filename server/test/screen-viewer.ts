import type { GatewayClient, startTestGateway } from './gateway.ts'
import { RfbClient, type RfbClientOptions } from './rfb-client.ts'

type Gateway = Awaited<ReturnType<typeof startTestGateway>>
export type ViewWish = RfbClientOptions & { readonly session?: string | undefined }
export type TestViewer = { readonly socket: GatewayClient; readonly rfb: RfbClient }

/** Connects an RFB client that receives everything from the handshake on. */
export async function view(
  gateway: Gateway,
  machineId: string,
  /** The secret of an API key, or the headers of a browser. */
  credential: string | Readonly<Record<string, string>>,
  { session, ...options }: ViewWish = {},
): Promise<TestViewer> {
  const query = session === undefined ? '' : `?session_id=${session}`
  const socket = await gateway.connect(`/v1/machines/${machineId}/screen${query}`, {
    headers:
      typeof credential === 'string' ? { authorization: `Bearer ${credential}` } : credential,
  })
  const rfb = new RfbClient((bytes) => socket.socket.send(bytes, { binary: true }), options)
  for (const frame of socket.frames) if ('payload' in frame) rfb.receive(frame.payload)
  socket.socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) rfb.receive(data)
  })
  socket.socket.once('close', (code) => rfb.end(new Error(`the connection has closed: ${code}`)))
  return { socket, rfb }
}

/** The control messages of a type received so far. */
export function controlsOf(viewer: TestViewer, type: string): Record<string, unknown>[] {
  return viewer.socket.controls.filter((message) => message['type'] === type)
}

/** Waits for a control message of a type, unless it was received already. */
export function untilControl(
  viewer: TestViewer,
  type: string,
  isIt: (message: Record<string, unknown>) => boolean = () => true,
): Promise<Record<string, unknown>> {
  return viewer.socket.until(() => controlsOf(viewer, type).find(isIt))
}

/** Waits until the client shows a colour at a point. */
export async function untilSeen({ rfb }: TestViewer, x: number, y: number, colour: number) {
  await rfb.until(() => x < rfb.width && y < rfb.height && rfb.pixel(x, y) === colour)
}

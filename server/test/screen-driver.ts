import type { MachineId } from '@computer/contract'
import type { startTestGateway } from './gateway.ts'
import type { TestServer } from './harness.ts'
import { view, type TestViewer } from './screen-viewer.ts'
import { eventually } from './settled.ts'

type Gateway = Awaited<ReturnType<typeof startTestGateway>>

/** A client whose session holds the lease and that has named its fence. */
export async function drive(
  server: TestServer,
  gateway: Gateway,
  id: MachineId,
  options: Record<string, unknown> = {},
) {
  const { sessionId, fence } = await server.lease(id, options)
  const viewer = await view(gateway, id, server.key, { session: sessionId })
  await connected(viewer)
  viewer.socket.send({ type: 'input_fence', fence })
  return { viewer, sessionId, fence }
}

export async function connected({ rfb }: TestViewer): Promise<void> {
  await rfb.until(() => rfb.isConnected)
}

/** Waits until the gateway has processed everything the client sent, which it does in order. */
export async function settledBy({ socket }: TestViewer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.socket.once('pong', () => resolve())
  socket.socket.ping()
  await promise
}

export function acquire(
  server: TestServer,
  machineId: string,
  session_id: string,
  options: Record<string, unknown> = {},
) {
  return server.call('POST', `/v1/machines/${machineId}/input-lease`, { session_id, ...options })
}

/** The events that reached the display of a fake machine. */
export function landed(server: TestServer, id: MachineId): string[] {
  return server.guest(id).desktop.events.map(({ event }) => event)
}

export async function untilLanded(
  server: TestServer,
  id: MachineId,
  isSo: (events: string[]) => boolean,
): Promise<void> {
  await eventually(async () => isSo(landed(server, id)) || undefined)
}

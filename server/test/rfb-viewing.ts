import type { GuestInputEvent } from '@computer/contract/guest-streams'
import type { Geometry, Rectangle } from '../src/gateway/rfb/tile.ts'
import { RfbSession } from '../src/gateway/rfb/session.ts'
import { RfbClient, type RfbClientOptions } from './rfb-client.ts'

export type ViewingOptions = RfbClientOptions & {
  readonly geometry?: Geometry
  readonly name?: string
  /** Whether what the viewer does is passed on. */
  readonly mayInput?: boolean
}

/** A client and the server's end of its conversation, without a socket between them. */
export async function startViewing(options: ViewingOptions = {}) {
  const { geometry = { width: 64, height: 160 }, name = 'a machine', mayInput = true } = options
  const inputs: GuestInputEvent[] = []
  const refreshed: Rectangle[] = []
  const sent: Buffer[] = []
  const counts = { wanted: 0 }
  const client: RfbClient = new RfbClient((bytes) => viewer.receive(bytes), options)
  const viewer = new RfbSession({
    name,
    geometry,
    send: (bytes) => {
      sent.push(bytes)
      client.receive(bytes)
    },
    on: {
      input: (event) => {
        inputs.push(event)
        return mayInput
      },
      refresh: (area) => refreshed.push(area),
      wanted: () => (counts.wanted += 1),
    },
  })
  await client.until(({ isConnected }) => isConnected)
  await client.settled()
  return { client, viewer, inputs, refreshed, sent, counts }
}

import { GuestPortQuery } from '@computer/contract/guest-streams'
import { parse } from '../body.ts'
import type { Route } from '../server.ts'
import { connectPort, pipeBoth } from './port.ts'

export function portRoutes(): Record<'port', Route> {
  return {
    port: async ({ query, signal }) => {
      const socket = await connectPort(Number(parse(GuestPortQuery, query).port), signal)
      return { duplex: (stream) => pipeBoth(stream, socket) }
    },
  }
}

import {
  GuestOpenTerminal,
  GuestTerminalId,
  GuestTerminalSize,
} from '@computer/contract/guest-terminals'
import type { guestTerminalRoutes } from '@computer/contract/guest-routes'
import { parse, parseBody } from '../body.ts'
import type { LoginOptions } from '../exec/environment.ts'
import type { Route } from '../server.ts'
import { Terminals } from './terminals.ts'

export function terminalRoutes(
  loginOf: (name: string) => Promise<LoginOptions>,
): Record<keyof typeof guestTerminalRoutes | 'terminal', Route> {
  const terminals = new Terminals()
  return {
    openTerminal: async ({ body }) => {
      const request = await parseBody(GuestOpenTerminal, body)
      return { json: terminals.open(request, await loginOf(request.user)) }
    },
    listTerminals: async () => ({ json: { data: terminals.list() } }),
    readTerminal: async ({ query }) => ({
      json: terminals.find(parse(GuestTerminalId, query).id).info,
    }),
    resizeTerminal: async ({ body }) => {
      const { id, cols, rows } = await parseBody(GuestTerminalSize, body)
      const terminal = terminals.find(id)
      terminal.resize(cols, rows)
      return { json: terminal.info }
    },
    killTerminal: async ({ body }) => {
      await terminals.kill((await parseBody(GuestTerminalId, body)).id)
      return { json: {} }
    },
    terminal: async ({ query }) => {
      const terminal = terminals.find(parse(GuestTerminalId, query).id)
      terminal.reserve()
      return { duplex: (stream) => terminal.attach(stream) }
    },
  }
}

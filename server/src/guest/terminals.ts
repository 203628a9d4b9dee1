import {
  GuestTerminal,
  GuestTerminals,
  guestTerminalRoutes,
  TerminalFromGuest,
  guestStreams,
  type GuestOpenTerminal,
  type GuestTerminalSize,
  type TerminalId,
} from '@computer/contract'
import { z } from 'zod'
import type { GuestChannels, GuestRef } from './channels.ts'
import type { CallJson, CallOptions } from './call.ts'
import { openGuestStream } from './streams.ts'

const openTimeoutMs = 15_000
/** With the longest command that the kernel starts. */
const maxTerminalBytes = 6 * 1024 * 1024

/** The agent's terminals as functions of the guest client. */
export function terminalCalls(callJson: CallJson) {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value))
  return {
    openTerminal: (ref: GuestRef, request: GuestOpenTerminal, { signal }: CallOptions = {}) =>
      callJson(
        ref,
        guestTerminalRoutes.openTerminal,
        GuestTerminal,
        { body: encode(request), signal },
        maxTerminalBytes,
      ),

    async listTerminals(ref: GuestRef, { signal }: CallOptions = {}) {
      const route = guestTerminalRoutes.listTerminals
      return (await callJson(ref, route, GuestTerminals, { signal })).data
    },

    /** Works as well just after the terminal's command has exited. */
    readTerminal: (ref: GuestRef, id: TerminalId, { signal }: CallOptions = {}) =>
      callJson(
        ref,
        guestTerminalRoutes.readTerminal,
        GuestTerminal,
        { query: { id }, signal },
        maxTerminalBytes,
      ),

    resizeTerminal: (ref: GuestRef, request: GuestTerminalSize, { signal }: CallOptions = {}) =>
      callJson(
        ref,
        guestTerminalRoutes.resizeTerminal,
        GuestTerminal,
        { body: encode(request), signal },
        maxTerminalBytes,
      ),

    async killTerminal(ref: GuestRef, id: TerminalId, { signal }: CallOptions = {}) {
      const body = encode({ id })
      await callJson(ref, guestTerminalRoutes.killTerminal, z.object({}), { body, signal })
    },
  }
}

/** Streams the bytes of a terminal: its backlog first, then new output. */
export function attachTerminal(channels: GuestChannels, ref: GuestRef, id: TerminalId) {
  const path = `${guestStreams.terminal.path}?id=${id}`
  return openGuestStream(channels, ref, path, TerminalFromGuest, { timeoutMs: openTimeoutMs })
}

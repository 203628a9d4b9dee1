import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ScreenPlace, ScreenPointer, maxPointers } from './screen-pointers.ts'
import { MachineState } from './machines.ts'
import type { Permission } from './permissions.ts'
import { InputLease } from './sessions.ts'
import { TerminalColumns, TerminalRows } from './terminals.ts'
import { Timestamp } from './text.ts'

/** One channel as data: the gateway mounts it and enforces its permissions while it is open. */
export type Channel = {
  readonly path: `/v1/${string}`
  /** `member`: any member of the organization, signed in or by API key. Otherwise that permission. */
  readonly requires: 'member' | Permission
  /** Also needed to send input. Without it the channel is view-only. */
  readonly requiresForInput?: Permission
  /** The guest of a help request may open it with the session of the guest. */
  readonly guests?: true
  /** The server sends a tick every 5 seconds: scripts of pages see it, unlike a ping. */
  readonly ticks?: true
}

/**
 * The real-time gateway (wire, Real-time gateway). Text frames are JSON control messages, binary
 * frames are payload, on every channel.
 */
export const channels = {
  /** RFB 3.8 as binary frames. Query: session_id. */
  screen: {
    path: '/v1/machines/{machine_id}/screen',
    requires: 'member',
    requiresForInput: 'machines:control',
    guests: true,
    ticks: true,
  },
  /** The bytes of a pty as binary frames. */
  terminal: {
    path: '/v1/machines/{machine_id}/terminals/{terminal_id}',
    requires: 'machines:control',
  },
  /** Events of one machine, one per text frame. Query: after_sequence. */
  machineEvents: { path: '/v1/machines/{machine_id}/events', requires: 'member', ticks: true },
  /** Activity of one machine, one per text frame with its cursor. Query: after. */
  machineActivity: { path: '/v1/machines/{machine_id}/activity', requires: 'member', ticks: true },
  /** The same of all machines of the organization. Query: after. */
  organizationActivity: { path: '/v1/activity', requires: 'member', ticks: true },
  /** Events of the organization, one per text frame with its cursor. Query: after. */
  organizationEvents: { path: '/v1/events', requires: 'member', ticks: true },
} as const satisfies Record<string, Channel>

export const closeCode = {
  /** The server is shutting down: reconnect. */
  goingAway: 1001,
  /** The client violated the protocol of the channel. */
  protocolError: 1002,
  /** The credential expired or was revoked. */
  unauthenticated: 4401,
  /** The permission or the membership was lost. */
  permissionDenied: 4403,
  /** The machine or the terminal is gone. */
  gone: 4404,
  /** Another client is connected to the terminal, or the screen is private to another session. */
  conflict: 4409,
  sessionClosed: 4410,
  messageTooLarge: 4413,
  /** More than 200 input messages per second after a burst of 400. */
  tooManyMessages: 4429,
} as const

export const inputMessagesPerSecond = 200
export const inputMessageBurst = 400
export const pingEveryMs = 20_000
export const deadAfterMs = 45_000

const Tick = z.object({
  type: z.literal('tick'),
  /** Where the events of an organization begin: a client that has received none resumes there. */
  cursor: z.string().optional(),
})
export const tick: z.infer<typeof Tick> = { type: 'tick' }

/** Control messages that a client may send on a screen channel. */
export const ScreenClientMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_fence'), fence: z.int().min(0) }),
  /** Where the client's own pointer is, for the other clients; null once it has left the screen. Needs no lease. */
  z.strictObject({ type: z.literal('pointer'), at: ScreenPlace.nullable() }),
])
export type ScreenClientMessage = z.infer<typeof ScreenClientMessage>

/** Control messages that the server sends on a screen channel, beside the RFB stream. */
export const ScreenServerMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), width: z.int(), height: z.int() }),
  z.object({ type: z.literal('lease'), ...InputLease.shape }),
  z.object({ type: z.literal('lease_lost'), fence: z.int() }),
  z.object({ type: z.literal('machine'), state: MachineState }),
  /** All pointers of others, on every change. The client's own is not among them. */
  z.object({ type: z.literal('pointers'), pointers: z.array(ScreenPointer).max(maxPointers) }),
  Tick,
])
export type ScreenServerMessage = z.infer<typeof ScreenServerMessage>

export const TerminalClientMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('resize'), cols: TerminalColumns, rows: TerminalRows }),
])

export const gateway = {
  createToken: endpoint({
    method: 'POST',
    path: '/v1/gateway-tokens',
    summary:
      'Create a token for one connection to the gateway, for clients that can send neither headers nor the cookie.',
    requires: 'member',
    status: 201,
    response: z.object({
      token: z
        .string()
        .describe('Connect with the subprotocol bearer.TOKEN, once, within 60 seconds.'),
      expires_at: Timestamp,
    }),
    creates: true,
  }),
}

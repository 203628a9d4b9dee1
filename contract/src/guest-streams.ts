import { z } from 'zod'
import { GuestError } from './guest.ts'
import { TerminalColumns, TerminalRows } from './terminals.ts'

/*
 * Streams between the server and the agent inside a machine: one HTTP/2 POST each, with both
 * directions open. Both sides send frames: the length of the payload in 4 bytes (big endian), a
 * byte with the kind, the payload. Kind 0 is a JSON control message, kind 1 is payload.
 *
 * POST /screen. The agent follows what is drawn and sends each changed part of the screen once, as
 * a tile (tiles.ts), which is the payload of kind 1. A server process opens one stream for all of
 * its viewers of a machine. `frame` ends the tiles of one moment. The server acknowledges it with
 * `taken`; the agent collects further changes until then, so that nothing queues up.
 *
 * POST /terminal?id=. Kind 1 is the pty's bytes. The agent replays the output it has kept, then
 * continues live.
 *
 * POST /port?port= has no frames: it carries the raw bytes of a TCP connection to that port of the
 * machine, both ways, and each direction ends on its own. It is accepted once the connection is
 * established; if nothing listens, the response is precondition_failed.
 */

/** A port has exactly one spelling, so that checks see the port that is connected to. */
export const GuestPortQuery = z.strictObject({
  port: z
    .string()
    .regex(/^[1-9]\d{0,4}$/)
    .refine((port) => Number(port) <= 65_535),
})

export const frameKind = { control: 0, payload: 1 } as const
/** The longest payload of each kind, in bytes. */
export type FrameLimits = { readonly control: number; readonly payload: number }

const mebibyte = 1024 * 1024
/** From the agent, which is not trusted: a tile of a million pixels, or copied text of 1 MiB. */
export const limitsFromGuest: FrameLimits = {
  control: mebibyte + 64 * 1024,
  payload: 4 * mebibyte + 64 * 1024,
}
export const limitsToGuest: FrameLimits = { control: 16 * mebibyte, payload: 4 * mebibyte }

/** Pointer and keyboard as in RFB: the state of all buttons, and keysyms. */
export const GuestInputEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('pointer'),
    x: z.int(),
    y: z.int(),
    /** Bit 0 left, 1 middle, 2 right, 3 to 6 wheel up, down, left, right. */
    buttons: z.int().min(0).max(255),
  }),
  z.object({ type: z.literal('key'), keysym: z.int().min(0), down: z.boolean() }),
  z.object({ type: z.literal('clipboard'), text: z.string() }),
  z.object({ type: z.literal('resize'), width: z.int(), height: z.int() }),
])
export type GuestInputEvent = z.infer<typeof GuestInputEvent>

export const ScreenToGuest = z.discriminatedUnion('type', [
  /** Performed in order, each under its fence, like POST /input. A refusal names the `viewer`. */
  z.object({
    type: z.literal('input'),
    viewer: z.int(),
    fence: z.int().min(0),
    event: GuestInputEvent,
  }),
  z.object({ type: z.literal('taken'), frame: z.int() }),
])
export type ScreenToGuest = z.infer<typeof ScreenToGuest>

export const ScreenFromGuest = z.discriminatedUnion('type', [
  /** Before the first tile and after every resize; all tiles follow. */
  z.object({ type: z.literal('geometry'), width: z.int(), height: z.int() }),
  z.object({ type: z.literal('frame'), frame: z.int() }),
  /** The cursor's image, RGBA in base64; x and y are its hotspot. */
  z.object({
    type: z.literal('cursor'),
    width: z.int(),
    height: z.int(),
    x: z.int(),
    y: z.int(),
    pixels: z.string(),
  }),
  /** A program inside has copied this text. */
  z.object({ type: z.literal('clipboard'), text: z.string() }),
  z.object({ type: z.literal('refused'), viewer: z.int(), fence: z.int(), ...GuestError.shape }),
])
export type ScreenFromGuest = z.infer<typeof ScreenFromGuest>

export const TerminalToGuest = z.discriminatedUnion('type', [
  z.object({ type: z.literal('resize'), cols: TerminalColumns, rows: TerminalRows }),
])
export const TerminalFromGuest = z.discriminatedUnion('type', [
  z.object({ type: z.literal('attached') }),
  z.object({ type: z.literal('exit'), exit_code: z.int() }),
])

import { z } from 'zod'
import { GuestError } from './guest.ts'
import { TerminalColumns, TerminalRows } from './terminals.ts'

/*
 * Streams between the server and the agent inside a machine: one HTTP/2 stream each, POST, both
 * directions open at once. Both sides send frames: the length of what follows in 4 bytes (big
 * endian), a byte of kind, the payload. Kind 0 is a JSON control message, kind 1 is payload.
 *
 * POST /screen. The agent watches what is drawn and sends each changed part of the screen once, as a
 * tile: a rectangle, and its pixels in a form that goes to RFB viewers as it is (a body of RFB's
 * Tight encoding that needs no earlier one). A server process opens one for all viewers of a machine
 * that it serves. A tile is the payload of kind 1: x, y, width, height (2 bytes each, big endian) and
 * the body. `frame` ends the tiles of one moment; the agent goes on once `taken` says that it was
 * received, and meanwhile gathers what changes, so nothing piles up anywhere.
 *
 * POST /terminal?id=. Kind 1 is the pty's bytes. The agent replays what it keeps, then goes on live.
 *
 * POST /port?port= has no frames: the bytes of a TCP connection to that port of the machine itself, as
 * they are, both ways, each side ending when its own is done. It is accepted once the connection stands;
 * where nothing listens the answer is precondition_failed.
 */
export const guestStreams = {
  screen: { method: 'POST', path: '/screen' },
  terminal: { method: 'POST', path: '/terminal' },
  port: { method: 'POST', path: '/port' },
} as const

/** A port is written in one way alone, so that what is compared is what is connected to. */
export const GuestPortQuery = z.strictObject({
  port: z
    .string()
    .regex(/^[1-9]\d{0,4}$/)
    .refine((port) => Number(port) <= 65_535),
})

export const frameKind = { control: 0, payload: 1 } as const
export const maxFrameBytes = 16 * 1024 * 1024

/** Pointer and keyboard as RFB has them: the whole state of the buttons, and keysyms. */
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
  /** In the order sent, each under its fence, as POST /input is. `viewer` comes back in a refusal. */
  z.object({
    type: z.literal('input'),
    viewer: z.int(),
    fence: z.int().min(0),
    event: GuestInputEvent,
  }),
  z.object({ type: z.literal('taken'), frame: z.int() }),
  /** Every tile anew. */
  z.object({ type: z.literal('refresh') }),
])
export type ScreenToGuest = z.infer<typeof ScreenToGuest>

export const ScreenFromGuest = z.discriminatedUnion('type', [
  /** Before the first tile and after every resize; every tile follows anew. */
  z.object({ type: z.literal('geometry'), width: z.int(), height: z.int() }),
  z.object({ type: z.literal('frame'), frame: z.int() }),
  /** The pointer's picture, RGBA in base 64, with the point of it that points. */
  z.object({
    type: z.literal('cursor'),
    width: z.int(),
    height: z.int(),
    x: z.int(),
    y: z.int(),
    pixels: z.string(),
  }),
  /** A program inside owns the clipboard and gave its text. */
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

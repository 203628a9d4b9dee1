/*
 * A history of five clients that compete for the input lease of a machine and send input, while a window
 * over the whole display records the input that lands.
 *
 * All times (`…At`) are readings of one counter, which this process advances with every observation.
 * `settledAt` is later than the answer of a call: when the answer arrives, a mark is sent to the display,
 * where it passes the same queue as the events. So any landing that is read after the mark also landed
 * after the answer.
 */
export type History = {
  /** Acquisitions and renewals that were answered with a grant. */
  readonly grants: Grant[]
  /** Acquisitions without a grant, which may nevertheless have held the lease for a while. */
  readonly attempts: Attempt[]
  readonly releases: Release[]
  readonly expiries: Expiry[]
  readonly sweeps: Sweep[]
  readonly inputs: Input[]
  readonly landings: Landing[]
}

export type Grant = {
  readonly client: number
  readonly fence: number
  /** Identifies the holding: when it began, by the database's clock. */
  readonly holding: string
  /** Granted to a person who took a help request. */
  readonly isHelp: boolean
  readonly sentAt: number
  readonly settledAt: number
}

type Attempt = {
  readonly client: number
  readonly sentAt: number
  /** Null if the answer is inconclusive: the session may hold the lease from then on. */
  readonly refusedAt: number | null
}

type Release = {
  readonly client: number
  readonly sentAt: number
  readonly settledAt: number
}

/** The grant with this fence is expired in the database from `at` on. */
type Expiry = { readonly fence: number; readonly at: number }

/**
 * A sweep after which the agent knows that the expired grant with this fence has ended. A sweep that came
 * after another client's acquisition ends nothing: that acquisition does, when it is answered.
 */
type Sweep = { readonly fence: number; readonly settledAt: number }

export type Input = {
  readonly client: number
  /** The number of the input among those of its client. */
  readonly number: number
  /** The only fence under which it may land; null: the current one of its session. */
  readonly fence: number | null
  readonly way: 'http' | 'socket'
  readonly kind: 'move' | 'click' | 'drag' | 'type'
  /** The character of a text; empty for other inputs, which encode their number in a point. */
  readonly character: string
  /** How many events it causes. */
  readonly events: number
  readonly sentAt: number
  /** Sent when nothing can prevent it from landing. */
  readonly mustLand?: boolean
  outcome: 'done' | 'refused' | 'unknown'
  error?: string
  /** Null without a conclusive answer. */
  settledAt: number | null
}

/** One event that the window received. */
export type Landing = {
  readonly at: number
  readonly client: number
  readonly number: number
  /** The part of the client's fence that the input encodes; null for a key. */
  readonly stamp: number | null
}

export const clientCount = 5
/** Every point of the display encodes one event of one input. */
export const displaySize = { width: 1280, height: 1024 }
export const inputsPerClient = displaySize.width / clientCount
export const stepsPerInput = 8
const stamps = displaySize.height / stepsPerInput

export function stampOf(fence: number): number {
  return fence % stamps
}

export function pointOf(
  { client, number, stamp }: { client: number; number: number; stamp: number },
  step = 0,
): { x: number; y: number } {
  return { x: client * inputsPerClient + number, y: stamp * stepsPerInput + step }
}

export function readPoint({ x, y }: { readonly x: number; readonly y: number }) {
  return {
    client: Math.floor(x / inputsPerClient),
    number: x % inputsPerClient,
    stamp: Math.floor(y / stepsPerInput),
  }
}

/** Each is a key, or a key with Shift. A client uses its eighteen in turn. */
const characters =
  "`1234567890-=qwertyuiop[]\\asdfghjkl;'zxcvbnm,./" +
  '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:"ZXCVBNM<>?'
const charactersPerClient = Math.floor(characters.length / clientCount)

/** The character that the client's text with this number repeats. */
export function characterOf(client: number, text: number): string {
  return characters[client * charactersPerClient + (text % charactersPerClient)]!
}

/** The client of a character; undefined for other keys, such as Shift. */
export function readCharacter(character: string): number | undefined {
  const index = characters.indexOf(character)
  return index < 0 ? undefined : Math.floor(index / charactersPerClient)
}

export function emptyHistory(): History {
  return {
    grants: [],
    attempts: [],
    releases: [],
    expiries: [],
    sweeps: [],
    inputs: [],
    landings: [],
  }
}

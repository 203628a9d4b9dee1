/*
 * What happened in one history: five clients compete for the input lease of a machine and send input,
 * and a window over its whole display sees what lands.
 *
 * All moments (`…At`) are readings of one counter that this process advances with everything it sees.
 * `settledAt` is more than when an answer came: from then on, whatever landed before the answer has been
 * read from the display. It is taken at the display: a mark that is put there when the answer comes
 * goes through the same queue as the events. So a landing that is read later did land later.
 */
export type History = {
  /** Acquisitions and renewals that were answered with a grant. */
  readonly grants: Grant[]
  /** Acquisitions that got no grant, but may have held the lease for a while. */
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
  /** Grants of one holding have this in common: when it began, by the database's clock. */
  readonly holding: string
  readonly sentAt: number
  readonly settledAt: number
}

type Attempt = {
  readonly client: number
  readonly sentAt: number
  /** Null when the answer does not say: it may hold the lease from then on. */
  readonly refusedAt: number | null
}

type Release = {
  readonly client: number
  readonly sentAt: number
  readonly settledAt: number
}

/** The grant with this fence ran out; the database says so from `at` on. */
type Expiry = { readonly fence: number; readonly at: number }

/** Tells the agents which grants have run out. */
type Sweep = { readonly sentAt: number; readonly settledAt: number }

export type Input = {
  readonly client: number
  /** Counts the client's inputs. */
  readonly number: number
  /** The grant under which it was sent, and no other; null: whichever its session holds. */
  readonly fence: number | null
  readonly way: 'http' | 'socket'
  readonly kind: 'move' | 'click' | 'drag' | 'type'
  /** What a text consists of; empty for the others, which carry their number in a point. */
  readonly character: string
  /** How many events it makes. */
  readonly events: number
  readonly sentAt: number
  /** Sent when nothing could keep it from landing. */
  readonly mustLand?: boolean
  outcome: 'done' | 'refused' | 'unknown'
  error?: string
  /** Null when there is no answer that says that it is over. */
  settledAt: number | null
}

/** One event that the window saw. */
export type Landing = {
  readonly at: number
  readonly client: number
  readonly number: number
  /** What the input carries of the fence that its client knew; a key carries none. */
  readonly stamp: number | null
}

export const clientCount = 5
/** Every point of the display is one event of one input. */
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

/** Each is a key, or a key with Shift. A client has eighteen, and takes them in turn. */
const characters =
  "`1234567890-=qwertyuiop[]\\asdfghjkl;'zxcvbnm,./" +
  '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:"ZXCVBNM<>?'
const charactersPerClient = Math.floor(characters.length / clientCount)

/** What the text with this number, among the client's texts, repeats. */
export function characterOf(client: number, text: number): string {
  return characters[client * charactersPerClient + (text % charactersPerClient)]!
}

/** The client of a character; undefined when it is nobody's, as Shift. */
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

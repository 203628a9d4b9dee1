import { z } from 'zod'
import { SessionId } from './ids.ts'

/* Pointers on the live screen: where the others who look at a machine, and the agents that act on it, point. */

/** In one message. With more, those that moved last are told. */
export const maxPointers = 32
/** Longer names are cut. */
export const maxPointerNameLength = 64
/** Each client's pointer is passed on so often, and each client is told so often. */
export const pointersPerSecond = 20

/** No display is larger. */
const coordinate = z.int().min(0).max(16_383)

/** A pixel of the display, counted from the top left corner. It may lie outside after a resize. */
export const ScreenPlace = z.strictObject({ x: coordinate, y: coordinate })
export type ScreenPlace = z.infer<typeof ScreenPlace>

export const ScreenPointer = z.object({
  /** Tells the pointers of one screen apart. It stays the same while its client is connected. */
  id: z.string().max(64),
  /** The name of the user or of the API key. */
  name: z.string().max(maxPointerNameLength),
  kind: z.enum(['person', 'agent']),
  /** Null for a client that only watches. */
  session_id: SessionId.nullable(),
  at: ScreenPlace,
  /** An agent clicked here through the API. */
  clicked: z.boolean(),
})
export type ScreenPointer = z.infer<typeof ScreenPointer>

export type Geometry = { readonly width: number; readonly height: number }
export type Rectangle = Geometry & { readonly x: number; readonly y: number }

/**
 * A rectangle of the screen, and its pixels as a body of Tight that needs no earlier one. The same
 * object goes to all viewers: what it is decoded to is kept for as long as it is.
 */
export type Tile = Rectangle & { readonly body: Buffer }

/** Not a tile: the agent inside a machine can send anything. */
export class TileError extends Error {
  override name = 'TileError'
}

/** A tile from the payload of the agent's screen stream, without a copy. Throws TileError. */
export function readTile(payload: Buffer): Tile {
  throw new TileError(`not yet: ${payload.length}`)
}

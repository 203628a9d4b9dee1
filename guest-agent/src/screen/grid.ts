import type { Rectangle } from '../x11/requests.ts'

/**
 * A screen cut into tiles, the unit of comparing, encoding and sending. Tiles are wide, because
 * rows of text are, and large, because most of the cost of a JPEG does not depend on its size.
 */
export type Grid = {
  readonly width: number
  readonly height: number
  readonly columns: number
  readonly count: number
}

export function makeGrid({ width, height }: { width: number; height: number }): Grid {
  const columns = Math.ceil(width / tileWidth)
  return { width, height, columns, count: columns * Math.ceil(height / tileHeight) }
}

export function tileArea(grid: Grid, index: number): Rectangle {
  return spanArea(grid, { first: index, last: index })
}

/** The tiles that a rectangle touches. The rectangle may reach beyond the screen. */
export function* tilesTouching(grid: Grid, { x, y, width, height }: Rectangle): Generator<number> {
  const right = Math.min(x + width, grid.width) - 1
  const bottom = Math.min(y + height, grid.height) - 1
  for (let top = Math.max(y, 0) - (Math.max(y, 0) % tileHeight); top <= bottom; top += tileHeight) {
    for (let left = Math.max(x, 0); left <= right; left += tileWidth - (left % tileWidth)) {
      yield (top / tileHeight) * grid.columns + Math.floor(left / tileWidth)
    }
  }
}

/** Adjacent tiles of one row. */
type Span = { readonly first: number; readonly last: number }

/** The fewest spans that cover exactly these tiles, from the top left. */
export function spansOf(grid: Grid, tiles: Iterable<number>): Span[] {
  const spans: { first: number; last: number }[] = []
  for (const tile of [...tiles].sort((a, b) => a - b)) {
    const open = spans.at(-1)
    if (open?.last === tile - 1 && tile % grid.columns !== 0) open.last = tile
    else spans.push({ first: tile, last: tile })
  }
  return spans
}

export function spanArea(grid: Grid, { first, last }: Span): Rectangle {
  const x = (first % grid.columns) * tileWidth
  const y = Math.floor(first / grid.columns) * tileHeight
  const right = Math.min((last % grid.columns) * tileWidth + tileWidth, grid.width)
  return { x, y, width: right - x, height: Math.min(tileHeight, grid.height - y) }
}

const tileWidth = 256
const tileHeight = 128

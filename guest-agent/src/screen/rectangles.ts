import type { Rectangle } from '../x11/requests.ts'

/** Of x,y,width,height. */
export function toRectangle(text: string): Rectangle {
  const [x, y, width, height] = text.split(',').map(Number)
  return { x: x!, y: y!, width: width!, height: height! }
}

export function overlaps(a: Rectangle, b: Rectangle): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

export function union(a: Rectangle, b: Rectangle): Rectangle {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)]
  const right = Math.max(a.x + a.width, b.x + b.width)
  const bottom = Math.max(a.y + a.height, b.y + b.height)
  return { x, y, width: right - x, height: bottom - y }
}

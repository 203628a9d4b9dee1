/** X requests as bytes. Words are 32 bits; `pair` packs two values of 16 bits into one. */

export function createWindow(id: number, parent: number, eventMask: number): Buffer {
  const inputOnly = 2
  const words = [id, parent, pair(0, 0), pair(1, 1), pair(0, inputOnly), 0, cwEventMask, eventMask]
  return request(1, 0, words)
}

export function selectEvents(window: number, eventMask: number): Buffer {
  return request(2, 0, [window, cwEventMask, eventMask])
}

export function getWindowAttributes(window: number): Buffer {
  return request(3, 0, [window])
}

export function queryTree(window: number): Buffer {
  return request(15, 0, [window])
}

export function internAtom(name: string): Buffer {
  const bytes = Buffer.from(name, 'latin1')
  return request(16, 0, [pair(bytes.length, 0)], bytes)
}

export function changeProperty(
  window: number,
  property: number,
  type: number,
  format: 8 | 32,
  data: Buffer,
  mode: 'replace' | 'append' = 'replace',
): Buffer {
  const words = [window, property, type, format, data.length / (format / 8)]
  return request(18, mode === 'append' ? 2 : 0, words, data)
}

export function getProperty(
  window: number,
  property: number,
  options: { readonly remove?: boolean; readonly words?: number } = {},
): Buffer {
  return request(20, options.remove ? 1 : 0, [window, property, 0, 0, options.words ?? 1024])
}

export function setSelectionOwner(owner: number, selection: number, time: number): Buffer {
  return request(22, 0, [owner, selection, time])
}

export function getSelectionOwner(selection: number): Buffer {
  return request(23, 0, [selection])
}

export function convertSelection(
  requestor: number,
  selection: number,
  target: number,
  property: number,
  time: number,
): Buffer {
  return request(24, 0, [requestor, selection, target, property, time])
}

export function sendEvent(destination: number, eventMask: number, event: Buffer): Buffer {
  return request(25, 0, [destination, eventMask], event)
}

/** Until `ungrabServer`, the X server serves this connection alone. */
export function grabServer(): Buffer {
  return request(36, 0, [])
}

export function ungrabServer(): Buffer {
  return request(37, 0, [])
}

export function queryPointer(window: number): Buffer {
  return request(38, 0, [window])
}

export function getInputFocus(): Buffer {
  return request(43, 0, [])
}

/** The keys that are down, one bit per keycode. */
export function queryKeymap(): Buffer {
  return request(44, 0, [])
}

/** In the server's own pixel format, including everything visible in the area. */
export function getImage(drawable: number, area: Rectangle): Buffer {
  const zPixmap = 2
  const { x, y, width, height } = area
  return request(73, zPixmap, [drawable, pair(x, y), pair(width, height), 0xffffffff])
}

export type Rectangle = {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export function queryExtension(name: string): Buffer {
  const bytes = Buffer.from(name, 'latin1')
  return request(98, 0, [pair(bytes.length, 0)], bytes)
}

export function changeKeyboardMapping(
  firstKeycode: number,
  keysymsPerKeycode: number,
  keysyms: readonly number[],
): Buffer {
  const count = keysyms.length / keysymsPerKeycode
  return request(100, count, [firstKeycode | (keysymsPerKeycode << 8), ...keysyms])
}

export function getKeyboardMapping(firstKeycode: number, count: number): Buffer {
  return request(101, 0, [firstKeycode | (count << 8)])
}

export function getModifierMapping(): Buffer {
  return request(119, 0, [])
}

export function extensionRequest(opcode: number, minor: number, words: readonly number[]): Buffer {
  return request(opcode, minor, words)
}

export function pair(low: number, high: number): number {
  return ((low & 0xffff) | ((high & 0xffff) << 16)) >>> 0
}

const cwEventMask = 0x800

function request(opcode: number, detail: number, words: readonly number[], tail?: Buffer): Buffer {
  const tailLength = tail?.length ?? 0
  const length = 1 + words.length + Math.ceil(tailLength / 4)
  const bytes = Buffer.alloc(length * 4)
  bytes[0] = opcode
  bytes[1] = detail
  bytes.writeUInt16LE(length, 2)
  words.forEach((word, index) => bytes.writeUInt32LE(word >>> 0, 4 + index * 4))
  tail?.copy(bytes, 4 + words.length * 4)
  return bytes
}

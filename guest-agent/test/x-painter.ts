import { setTimeout as pause } from 'node:timers/promises'
import { Clipboard } from '../src/desktop/clipboard.ts'
import { eventCode, eventMask } from '../src/x11/events.ts'
import {
  changeProperty,
  getInputFocus,
  pair,
  queryPointer,
  type Rectangle,
} from '../src/x11/requests.ts'
import { openSession, predefinedAtom } from '../src/x11/session.ts'

/** A program that draws on the display over its own connection. */
export async function openPainter(xSocketPath: string) {
  const session = await openSession(xSocketPath)
  const { x, root } = session
  const context = x.newId()
  x.send(request(55, 0, [context, root, 0]))
  const clipboard = new Clipboard(session)
  let listener: number | undefined
  return {
    session,
    /** Resolves when the X server has drawn it, to the number of the request that drew it. */
    async fill({ x: left, y: top, width, height }: Rectangle, colour: number): Promise<number> {
      const foreground = 0x4
      x.send(request(56, 0, [context, foreground, colour]))
      x.send(request(70, 0, [root, context, pair(left, top), pair(width, height)]))
      const next = await x.ask(getInputFocus())
      return (next.readUInt16LE(2) - 1) & 0xffff
    },
    async picture(area: Rectangle, colourAt: (x: number, y: number) => number): Promise<void> {
      for (let row = 0; row < area.height; row++) {
        const words = Array.from({ length: area.width }, (_, i) => colourAt(i, row))
        const at = [pair(area.width, 1), pair(area.x, area.y + row), 24 << 8]
        x.send(request(72, 2, [root, context, ...at, ...words]))
      }
      await x.sync()
    },
    /** Opens a window over everything, which receives keys and buttons. */
    async listenOver(area: Rectangle): Promise<number> {
      const window = (listener = x.newId())
      const inputOnly = 2
      const words = [window, root, pair(area.x, area.y), pair(area.width, area.height)]
      const events = inputEvents | eventMask.structureNotify
      x.send(request(1, 0, [...words, pair(0, inputOnly), 0, 0x800, events]))
      x.send(request(8, 0, [window]))
      x.send(request(42, 1, [window, 0]))
      await x.sync()
      return window
    },
    /** Gives the keyboard to the window under the pointer, as a window manager does when it is clicked. */
    async focusClicked(): Promise<void> {
      const pointer = await x.ask(queryPointer(root))
      x.send(request(42, 1, [pointer.readUInt32LE(12), 0]))
      await x.sync()
    },
    /** All red, pointing at 2,3, over the whole display. */
    async showCursor(width: number, height: number): Promise<void> {
      const [shape, bits, cursor] = [x.newId(), x.newId(), x.newId()]
      x.send(request(53, 1, [shape, root, pair(width, height)]))
      x.send(request(55, 0, [bits, shape, 0x4, 1]))
      x.send(request(70, 0, [shape, bits, pair(0, 0), pair(width, height)]))
      const colours = [pair(0xffff, 0), pair(0, 0), pair(0, 0)]
      x.send(request(93, 0, [cursor, shape, shape, ...colours, pair(2, 3)]))
      for (const target of [root, listener]) {
        if (target !== undefined) x.send(request(2, 0, [target, 0x4000, cursor]))
      }
      await x.sync()
    },
    /** As a window manager tells which window is active. */
    async setActiveWindow(window: number): Promise<void> {
      const data = Buffer.alloc(4)
      data.writeUInt32LE(window)
      const { _NET_ACTIVE_WINDOW: property } = session.atoms
      x.send(changeProperty(root, property, predefinedAtom.window, 32, data))
      await x.sync()
    },
    /** For each press over an area, whether it came after a request of this program was performed. */
    async watchClicks(area: Rectangle) {
      const window = x.newId()
      const [inputOnly, buttonPress] = [2, 0x4]
      const words = [window, root, pair(area.x, area.y), pair(area.width, area.height)]
      x.send(request(1, 0, [...words, pair(0, inputOnly), 0, 0x800, buttonPress]))
      x.send(request(8, 0, [window]))
      await x.sync()
      const presses: number[] = []
      let onPress = () => {}
      const stop = x.listen(eventCode.buttonPress, (event) => {
        presses.push(event.readUInt16LE(2))
        onPress()
      })
      return {
        async nextIsAfter(performed: number): Promise<boolean> {
          while (presses.length === 0) await new Promise<void>((resolve) => (onPress = resolve))
          return ((presses.shift()! - performed) & 0xffff) < 0x8000
        },
        [Symbol.dispose]() {
          stop()
          x.send(request(4, 0, [window]))
        },
      }
    },
    copy: (text: string) => clipboard.write('clipboard', text),
    /** Waits until a paste would return this text. */
    async pasted(text: string): Promise<void> {
      while ((await clipboard.read('clipboard')) !== text) await pause(5)
    },
    [Symbol.dispose]: () => x[Symbol.dispose](),
  }
}

export type Painter = Awaited<ReturnType<typeof openPainter>>

const inputEvents = 0b1001111

function request(opcode: number, detail: number, words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + words.length * 4)
  bytes[0] = opcode
  bytes[1] = detail
  bytes.writeUInt16LE(1 + words.length, 2)
  words.forEach((word, index) => bytes.writeUInt32LE(word >>> 0, 4 + index * 4))
  return bytes
}

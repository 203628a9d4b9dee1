import { eventCode } from '../../guest-agent/src/x11/events.ts'
import {
  changeProperty,
  extensionRequest,
  getKeyboardMapping,
  sendEvent,
} from '../../guest-agent/src/x11/requests.ts'
import { predefinedAtom } from '../../guest-agent/src/x11/session.ts'
import { openPainter } from '../../guest-agent/test/x-painter.ts'
import { displaySize, readCharacter, readPoint, type Input, type Landing } from './history.ts'

/** The counter behind all times of a history. */
export type Clock = { now: number; tick(): number }

export function createClock(): Clock {
  return {
    now: 0,
    tick() {
      return ++this.now
    },
  }
}

export type Recorder = Disposable & {
  /** Resolves when everything that landed before the call has been read. */
  mark(): Promise<number>
  /** Starts a new recording with these lists. */
  record(landings: Landing[], inputs: readonly Input[]): void
  /** Resolves when something more has landed. */
  landed(): Promise<void>
}

/** Opens a window over the whole display that records every key, button and motion. */
export async function openRecorder(xSocketPath: string, clock: Clock): Promise<Recorder> {
  const painter = await openPainter(xSocketPath)
  const { session } = painter
  const { x, atoms, root } = session
  const window = await painter.listenOver({ x: 0, y: 0, ...displaySize })
  const keyboard = await readKeyboard()
  const marks: (() => void)[] = []
  let landings: Landing[] = []
  let inputs: readonly Input[] = []
  let arrival = Promise.withResolvers<void>()

  const add = (landing: Omit<Landing, 'at'>) => {
    landings.push({ at: clock.tick(), ...landing })
    arrival.resolve()
    arrival = Promise.withResolvers()
  }
  for (const code of [eventCode.motionNotify, eventCode.buttonPress]) {
    x.listen(code, (event) => {
      add(readPoint({ x: event.readInt16LE(20), y: event.readInt16LE(22) }))
    })
  }
  x.listen(eventCode.keyPress, (event) => {
    const isShifted = (event.readUInt16LE(28) & 1) !== 0
    const character = keyboard.get(event[1]!)![isShifted ? 1 : 0]
    const client = readCharacter(character)
    if (client === undefined) return
    // The newest one, because no client has so many texts in flight that it reuses a character.
    const input = inputs.findLast((one) => one.client === client && one.character === character)
    add({ client, number: input?.number ?? -1, stamp: null })
  })
  x.listen(eventCode.clientMessage, () => marks.shift()?.())
  await imitateDesktop()
  await disableKeyRepeat()

  return {
    mark() {
      const { promise, resolve } = Promise.withResolvers<number>()
      marks.push(() => resolve(clock.tick()))
      x.send(sendEvent(window, 0, markEvent(window)))
      return promise
    },
    record(into, of) {
      landings = into
      inputs = of
    },
    landed: () => arrival.promise,
    [Symbol.dispose]: () => painter[Symbol.dispose](),
  }

  /** By keycode: the character without Shift and with it. */
  async function readKeyboard(): Promise<ReadonlyMap<number, readonly [string, string]>> {
    const [first, count] = [8, 248]
    const map = await x.ask(getKeyboardMapping(first, count))
    const at = (key: number, level: number) => {
      const keysym = map.readUInt32LE(32 + (key * map[1]! + level) * 4)
      return keysym < 0x7f ? String.fromCodePoint(keysym) : '\0'
    }
    const keys = Array.from({ length: count }, (_, key) => key)
    return new Map(keys.map((key) => [first + key, [at(key, 0), at(key, 1)] as const]))
  }

  /** The agent waits for a window manager, a backdrop and a panel: this window acts as all three. */
  async function imitateDesktop(): Promise<void> {
    const { window: windowType, atom } = predefinedAtom
    const kinds = [atoms._NET_WM_WINDOW_TYPE_DESKTOP, atoms._NET_WM_WINDOW_TYPE_DOCK]
    const set = (on: number, property: number, type: number, values: readonly number[]) =>
      x.send(changeProperty(on, property, type, 32, words(values)))
    set(root, atoms._NET_CLIENT_LIST, windowType, [window])
    set(window, atoms._NET_WM_WINDOW_TYPE, atom, kinds)
    for (const one of [root, window]) set(one, atoms._NET_SUPPORTING_WM_CHECK, windowType, [window])
    await x.sync()
  }

  /** Disables key repeat, so that a long press counts once. */
  async function disableKeyRepeat(): Promise<void> {
    const [changeKeyboardControl, autoRepeatMode, off] = [102, 0x80, 0]
    x.send(extensionRequest(changeKeyboardControl, 0, [autoRepeatMode, off]))
    await x.sync()
  }
}

function markEvent(window: number): Buffer {
  const event = Buffer.alloc(32)
  event[0] = eventCode.clientMessage
  event[1] = 32
  event.writeUInt32LE(window, 4)
  event.writeUInt32LE(predefinedAtom.atom, 8)
  return event
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => bytes.writeUInt32LE(value, index * 4))
  return bytes
}

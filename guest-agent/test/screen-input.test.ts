import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Desktop } from '../src/desktop/desktop.ts'
import { releaseInput } from '../src/desktop/input.ts'
import { Fence } from '../src/fence.ts'
import { LiveScreen } from '../src/screen/live-screen.ts'
import { eventCode } from '../src/x11/events.ts'
import { getKeyboardMapping, queryKeymap, queryPointer } from '../src/x11/requests.ts'
import { ScreenViewer } from './screen-viewer.ts'
import { startDisplay, type TestDisplay } from './x-display.ts'
import { openPainter, type Painter } from './x-painter.ts'

let display: TestDisplay
let painter: Painter
let desktop: Desktop
let fence: Fence
let liveScreen: LiveScreen
/** The fence at the start of each test. */
let first = 0
/** The events that a window over the whole display received. */
let seen: {
  readonly kind: number
  readonly detail: number
  readonly x: number
  readonly y: number
}[]
let onSeen = () => {}

before(async () => {
  display = await startDisplay()
  painter = await openPainter(display.xSocketPath)
  await painter.listenOver({ x: 0, y: 0, width: 2000, height: 2000 })
  for (const kind of [2, 3, 4, 5, 6]) {
    painter.session.x.listen(kind, (event) => {
      const [x, y] = [event.readInt16LE(24), event.readInt16LE(26)]
      seen.push({ kind, detail: event[1]!, x, y })
      onSeen()
    })
  }
  desktop = new Desktop(display)
  fence = new Fence()
  liveScreen = new LiveScreen({ desktop, fence, rfbSocketPath: display.rfbSocketPath })
})
after(async () => {
  painter?.[Symbol.dispose]()
  await display?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  // Releases what the previous test held.
  first = await takeOver()
  await painter.session.x.sync()
  seen = []
})

test('the pointer follows its viewer: motion, buttons and wheel, within the display', async () => {
  using viewer = watch()
  viewer.input(first, { type: 'pointer', x: 40, y: 50, buttons: 0 })
  viewer.input(first, { type: 'pointer', x: 40, y: 50, buttons: 0b1 })
  viewer.input(first, { type: 'pointer', x: 1280, y: 50, buttons: 0b101 })
  viewer.input(first, { type: 'pointer', x: 60, y: 70, buttons: 0b1 })
  viewer.input(first, { type: 'pointer', x: 60, y: 70, buttons: 0b100 })
  viewer.input(first, { type: 'pointer', x: 60, y: 70, buttons: 0b1000 })
  viewer.input(first, { type: 'pointer', x: 61, y: 70, buttons: 0 })
  await seenUntil(() => buttons().length === 6)
  assert.deepEqual(buttons(), ['+1', '-1', '+3', '-3', '+4', '-4'])
  assert.ok(seen.every(({ x }) => x < 1280))
  assert.deepEqual(last(eventCode.motionNotify), { x: 61, y: 70 })
})

test('keysyms go down and up as sent, on any level of the layout', async () => {
  using viewer = watch()
  const [shift, a, A, one, exclamation] = [0xffe1, 0x61, 0x41, 0x31, 0x21]
  const down = (keysym: number) => viewer.input(first, { type: 'key', keysym, down: true })
  const up = (keysym: number) => viewer.input(first, { type: 'key', keysym, down: false })
  const strike = (keysym: number) => {
    down(keysym)
    up(keysym)
  }

  strike(a)
  // With and without Shift: the viewer's layout may have a character on another level.
  strike(A)
  down(shift)
  strike(A)
  strike(one)
  strike(exclamation)
  up(shift)
  // It is not down, so nothing happens.
  up(a)
  await seenUntil(() => keys().length === 16)
  const [shiftKey, aKey, oneKey] = await keycodesOf([shift, a, one])
  const S = shiftKey!
  const expected = [
    [+aKey!, -aKey!],
    [S, +aKey!, -S, -aKey!],
    [S, +aKey!, -aKey!],
    [-S, +oneKey!, S, -oneKey!],
    [+oneKey!, -oneKey!],
    [-S],
  ]
  assert.deepEqual(keys(), expected.flat())
})

test('a keysym that the layout lacks gets a keycode until it is released', async () => {
  using viewer = watch()
  const kanji = 0x01006f22
  viewer.input(first, { type: 'key', keysym: kanji, down: true })
  await seenUntil(() => keys().length === 1)
  const [keycode] = keys()
  const map = await painter.session.x.ask(getKeyboardMapping(keycode!, 1))
  assert.equal(map.readUInt32LE(32), kanji)
  viewer.input(first, { type: 'key', keysym: kanji, down: false })
  await seenUntil(() => keys().length === 2)
  assert.deepEqual(keys(), [keycode, -keycode!])
})

test('after a takeover amid a flood of motion no event arrives and nothing is held', async () => {
  using viewer = watch()
  viewer.input(first, { type: 'key', keysym: 0x62, down: true })
  for (let x = 0; x < 400; x++) viewer.input(first, { type: 'pointer', x, y: 9, buttons: 1 })
  await seenUntil(() => seen.some(({ x }) => x > 3))
  const answered = takeOver()
  for (let x = 400; x < 800; x++) viewer.input(first, { type: 'pointer', x, y: 9, buttons: 1 })
  await answered
  assert.equal(await heldKeys(), 0)
  const { mask, x } = await where()
  assert.equal(mask, 0)

  await viewer.until(() => viewer.last('refused') !== undefined)
  viewer.input(await answered, { type: 'pointer', x: 1000, y: 1, buttons: 0 }, 2)
  await seenUntil(() => last(eventCode.motionNotify)?.x === 1000)
  assert.ok(seen.every((event) => event.x <= x || event.x === 1000))
  const refusals = viewer.messages.filter(({ type }) => type === 'refused')
  assert.equal(refusals.length, 1)
  const { error, ...whose } = viewer.last('refused')!
  assert.deepEqual(whose, { type: 'refused', viewer: 1, fence: first })
  assert.equal(error.reason, 'fence_stale')
})

test('a renewal releases nothing; a closing stream releases only its own', async () => {
  const viewer = watch()
  viewer.input(first, { type: 'key', keysym: 0x63, down: true })
  viewer.input(first, { type: 'pointer', x: 5, y: 5, buttons: 0b1 })
  await seenUntil(() => buttons().length === 1)
  await renew()
  assert.equal(await heldKeys(), 1)
  // As if it was in flight during the renewal.
  viewer.input(first, { type: 'pointer', x: 6, y: 5, buttons: 0b1 })
  await seenUntil(() => last(eventCode.motionNotify)?.x === 6)
  const session = (await desktop.current())!
  await fence.input(first + 1, (grant) =>
    session.pointer.click(grant, { button: 'right', count: 1, down: true }),
  )
  viewer[Symbol.dispose]()
  await seenUntil(() => buttons().includes('-1'))
  assert.equal(await heldKeys(), 0)
  assert.equal((await where()).mask, 1 << 10, 'only the right button is held')
})

test('an unknown fence is refused with its reason', async () => {
  using viewer = watch()
  viewer.input(first + 1, { type: 'pointer', x: 5, y: 5, buttons: 0 }, 3)
  await viewer.until(() => viewer.last('refused') !== undefined)
  assert.equal(viewer.last('refused')!.error.reason, 'fence_unknown')
  assert.deepEqual(seen, [])
})

test('a resize sends the new geometry and then the whole screen to every stream', async () => {
  using viewer = watch()
  using other = watch()
  await viewer.until(() => viewer.width === 1280)
  viewer.input(first, { type: 'resize', width: 900, height: 620 })
  for (const each of [viewer, other]) {
    await each.until(() => each.width === 900 && each.height === 620)
    await each.until(() => each.frames.at(-1)!.tiles === 20)
  }
  viewer.input(first, { type: 'resize', width: 1, height: 1 })
  viewer.input(first, { type: 'resize', width: 1280, height: 800 })
  await viewer.until(() => viewer.width === 1280)
})

test('the cursor image is sent first and whenever it changes', async () => {
  using viewer = watch()
  await viewer.until(() => viewer.last('cursor') !== undefined)
  const { width, height, pixels } = viewer.last('cursor')!
  assert.equal(Buffer.from(pixels, 'base64').length, width * height * 4)
  await painter.showCursor(20, 9)
  await viewer.until(() => viewer.last('cursor')!.width === 20)
  const red = Buffer.alloc(20 * 9 * 4, Buffer.of(255, 0, 0, 255)).toString('base64')
  const expected = { type: 'cursor', width: 20, height: 9, x: 2, y: 3, pixels: red }
  assert.deepEqual(viewer.last('cursor'), expected)
})

test('copied text reaches the viewers; text that a viewer wrote is not echoed', async () => {
  using viewer = watch()
  await viewer.until(() => viewer.frames.length > 0)
  await painter.copy('größer — 漢字')
  await viewer.until(() => viewer.last('clipboard') !== undefined)
  assert.equal(viewer.last('clipboard')!.text, 'größer — 漢字')

  viewer.input(first, { type: 'clipboard', text: 'from outside ✓' })
  await painter.pasted('from outside ✓')
  await painter.copy('x'.repeat(1024 * 1024 + 1))
  await painter.copy('last')
  await viewer.until(() => viewer.last('clipboard')!.text === 'last')
  const texts = viewer.messages.filter(({ type }) => type === 'clipboard')
  assert.equal(texts.length, 2)
})

test('a call of the API and a viewer do not interleave', async () => {
  using viewer = watch()
  const session = (await desktop.current())!
  const drag = { from: { x: 0, y: 0 }, to: { x: 200, y: 0 }, button: 'left', steps: 20 } as const
  const dragging = fence.input(first, (grant) => session.pointer.drag(grant, drag))
  viewer.input(first, { type: 'pointer', x: 999, y: 500, buttons: 0 })
  await dragging
  await seenUntil(() => last(eventCode.motionNotify)?.x === 999)
  assert.equal(seen.at(-1)!.x, 999)
})

function watch(): ScreenViewer {
  return new ScreenViewer((stream) => liveScreen.open(stream))
}

/** Raises the first fence of a new holding. */
async function takeOver(): Promise<number> {
  const next = (fence.current ?? 0) + 1
  return fence.raise({ fence: next, since: next }, () => releaseInput(desktop))
}

/** Raises the next fence of the holding that began with `first`. */
async function renew(): Promise<number> {
  return fence.raise({ fence: fence.current! + 1, since: first }, () =>
    assert.fail('it released input'),
  )
}

async function seenUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => (onSeen = resolve))
}

function buttons(): string[] {
  return seen.flatMap(({ kind, detail }) =>
    kind === eventCode.buttonPress
      ? [`+${detail}`]
      : kind === eventCode.buttonRelease
        ? [`-${detail}`]
        : [],
  )
}

/** Keycodes, negative where they go up. */
function keys(): number[] {
  return seen.flatMap(({ kind, detail }) =>
    kind === eventCode.keyPress ? [detail] : kind === eventCode.keyRelease ? [-detail] : [],
  )
}

function last(wanted: number): { x: number; y: number } | undefined {
  const event = seen.findLast(({ kind }) => kind === wanted)
  return event && { x: event.x, y: event.y }
}

async function heldKeys(): Promise<number> {
  const reply = await painter.session.x.ask(queryKeymap())
  return [...reply.subarray(8, 40)].filter((byte) => byte !== 0).length
}

async function where(): Promise<{ x: number; mask: number }> {
  const reply = await painter.session.x.ask(queryPointer(painter.session.root))
  return { x: reply.readInt16LE(16), mask: reply.readUInt16LE(24) & 0x1f00 }
}

async function keycodesOf(keysyms: readonly number[]): Promise<number[]> {
  const { x } = painter.session
  const map = await x.ask(getKeyboardMapping(8, 248))
  const width = map[1]!
  return keysyms.map((keysym) => {
    for (let key = 0; key < 248; key++) {
      if (map.readUInt32LE(32 + key * width * 4) === keysym) return key + 8
    }
    throw new Error(`no key types ${keysym}`)
  })
}

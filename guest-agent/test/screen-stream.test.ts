import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { Desktop } from '../src/desktop/desktop.ts'
import { Fence } from '../src/fence.ts'
import { LiveScreen } from '../src/screen/live-screen.ts'
import { ScreenStream } from '../src/screen/stream.ts'
import { ScreenViewer } from './screen-viewer.ts'
import { startDisplay, type TestDisplay } from './x-display.ts'
import { openPainter, type Painter } from './x-painter.ts'

let display: TestDisplay
let painter: Painter
let desktop: Desktop
let liveScreen: LiveScreen

before(async () => {
  display = await startDisplay()
  painter = await openPainter(display.xSocketPath)
  desktop = new Desktop(display)
  liveScreen = new LiveScreen({ desktop, fence: new Fence(), rfbSocketPath: display.rfbSocketPath })
})
after(async () => {
  painter?.[Symbol.dispose]()
  await display?.[Symbol.asyncDispose]()
})

test('a cursor that is known before the size of the screen waits for it', async () => {
  const listener = { onReady() {}, onInput() {}, onClose() {} }
  let stream!: ScreenStream
  using viewer = new ScreenViewer((duplex) => {
    stream = new ScreenStream(duplex, new Map(), listener)
  })
  stream.queue({ type: 'cursor', width: 1, height: 1, x: 0, y: 0, pixels: 'AAAAAA==' })
  stream.flush()
  stream.queueGeometry({ type: 'geometry', width: 640, height: 480 })
  stream.flush()
  await viewer.until(() => viewer.frames.length > 0)
  assert.deepEqual(
    viewer.messages.map(({ type }) => type),
    ['geometry', 'cursor', 'frame'],
  )
})

test('drawings arrive exactly, in the encoding that suits them', async () => {
  using viewer = await watch()
  assert.deepEqual([viewer.width, viewer.height], [1280, 800])

  await painter.fill({ x: 0, y: 0, width: 1280, height: 800 }, 0x204060)
  await viewer.until(() => viewer.pixel(1279, 799) === 0x204060)
  assert.deepEqual([...viewer.frames.at(-1)!.codecs], ['fill'])

  await painter.picture({ x: 300, y: 200, width: 90, height: 20 }, (x, y) => ((x * y) % 7) * 0x2a)
  await viewer.until(() => viewer.pixel(389, 219) === ((89 * 19) % 7) * 0x2a)
  assert.deepEqual([...viewer.frames.at(-1)!.codecs], ['palette'])
  await painter.fill({ x: 1270, y: 796, width: 3, height: 3 }, 0xffffff)
  await viewer.until(() => viewer.pixel(1271, 797) === 0xffffff)
  assert.ok((await readScreen()).equals(viewer.rgb))
})

test('a picture arrives as JPEG at once, and in better quality once it is still', async () => {
  using viewer = await watch()
  const area = { x: 256, y: 128, width: 512, height: 256 }
  await painter.picture(area, photo)
  await viewer.until(() => viewer.frames.some(({ codecs }) => codecs.has('jpeg')))
  const shown = await readScreen()
  // Closer than the first JPEG, of quality 80, can be.
  await viewer.until(() => difference(viewer.rgb, shown).mean < stillMean)
  assert.ok(difference(viewer.rgb, shown).most < 40)

  // Mostly flat: lossless, although it has many colours.
  await painter.fill(area, 0xffffff)
  await painter.picture({ x: 300, y: 150, width: 60, height: 60 }, photo)
  await viewer.until(() => viewer.frames.some(({ codecs }) => codecs.has('whole')))
  const second = await readScreen()
  await viewer.until(() => viewer.rgb.equals(second))
})

test('only tiles whose pixels changed are sent', async () => {
  using viewer = await watch()
  await painter.fill({ x: 0, y: 0, width: 600, height: 300 }, 0x112233)
  await viewer.until(() => viewer.pixel(599, 299) === 0x112233)
  const before = viewer.frames.length
  await painter.fill({ x: 10, y: 10, width: 500, height: 200 }, 0x112233)
  await painter.fill({ x: 10, y: 10, width: 1, height: 1 }, 0x998877)
  await viewer.until(() => viewer.pixel(10, 10) === 0x998877)
  const tiles = viewer.frames.slice(before).reduce((sum, frame) => sum + frame.tiles, 0)
  assert.equal(tiles, 1)
})

test('a stream that is never read delays no other and buffers little', async () => {
  using deaf = new ScreenViewer((stream) => liveScreen.open(stream), { isDeaf: true })
  using viewer = await watch()
  for (let round = 0; round < 30; round++) {
    await painter.fill({ x: 0, y: 0, width: 1280, height: 800 }, 0x010101 * round)
    await viewer.until(() => viewer.pixel(0, 0) === 0x010101 * round)
  }
  // Only the frames that may be sent without an acknowledgement.
  assert.ok(deaf.stream.readableLength < 256 * 1024)
})

test('without an acknowledgement changes are collected, and then only the latest is sent', async () => {
  using viewer = await watch()
  const send = viewer.send.bind(viewer)
  const held: Parameters<typeof send>[0][] = []
  viewer.send = (message) => void held.push(message)
  for (let round = 1; round < 20; round++) {
    await painter.fill({ x: 0, y: 0, width: 40, height: 40 }, round)
    if (round < 3) await viewer.until(() => viewer.pixel(0, 0) === round)
  }
  const shown = viewer.frames.length
  assert.equal(held.length, 2)
  viewer.send = send
  for (const message of held) send(message)
  await viewer.until(() => viewer.pixel(0, 0) === 19)
  assert.equal(viewer.frames.length, shown + 1)
})

test('the stream continues after a restart of the X server', async () => {
  using viewer = await watch()
  const geometries = () => viewer.messages.filter(({ type }) => type === 'geometry').length
  const before = geometries()
  painter[Symbol.dispose]()
  await display.restart()
  painter = await openPainter(display.xSocketPath)
  await viewer.until(() => geometries() > before)
  await painter.fill({ x: 0, y: 0, width: 9, height: 9 }, 0xabcdef)
  await viewer.until(() => viewer.pixel(8, 8) === 0xabcdef)
})

test('a protocol error ends the stream', async () => {
  for (const bytes of [
    Buffer.from([0, 0, 0, 1, 0, 0x7b]),
    Buffer.from([0xff, 0xff, 0xff, 0xff, 0]),
  ]) {
    using viewer = await watch()
    const closed = new Promise((resolve) => viewer.stream.once('end', resolve))
    viewer.stream.write(bytes)
    await closed
  }
  using viewer = await watch()
  const closed = new Promise((resolve) => viewer.stream.once('end', resolve))
  viewer.send({ type: 'taken', frame: 1_000_000 })
  await closed
})

/** A viewer that has received the whole screen. */
async function watch(): Promise<ScreenViewer> {
  const viewer = new ScreenViewer((stream) => liveScreen.open(stream))
  await viewer.until(() => viewer.frames.some(({ tiles }) => tiles > 0))
  return viewer
}

/** Through a screenshot, which does not use tiles. */
async function readScreen(): Promise<Buffer> {
  const session = await desktop.current()
  const { bytes } = await session!.screenshots.take({ format: 'png', quality: 100 })
  return sharp(bytes).removeAlpha().raw().toBuffer()
}

const stillMean = 0.19

function difference(a: Buffer, b: Buffer): { mean: number; most: number } {
  let [sum, most] = [0, 0]
  for (let i = 0; i < a.length; i++) {
    const one = Math.abs(a[i]! - b[i]!)
    sum += one
    most = Math.max(most, one)
  }
  return { mean: sum / a.length, most }
}

function photo(x: number, y: number): number {
  const level = (shift: number) =>
    Math.round(127 + 90 * Math.sin(x / 11 + shift) * Math.cos(y / 13))
  return (level(0) << 16) | (level(1) << 8) | (level(2) ^ ((x * 31 + y * 17) & 7))
}

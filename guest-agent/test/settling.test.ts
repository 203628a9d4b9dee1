import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import sharp from 'sharp'
import { Desktop } from '../src/desktop/desktop.ts'
import { Privacy } from '../src/desktop/privacy.ts'
import { resizeDisplay } from '../src/desktop/resize.ts'
import { screenshotRoute } from '../src/screen/screenshot-route.ts'
import { startDisplay, type TestDisplay } from './x-display.ts'
import { openPainter, type Painter } from './x-painter.ts'

let display: TestDisplay
let painter: Painter
let desktop: Desktop
const signal = new AbortController().signal
const box = { x: 100, y: 100, width: 40, height: 40 }

before(async () => {
  display = await startDisplay()
  painter = await openPainter(display.xSocketPath)
  desktop = new Desktop(display)
})
after(async () => {
  painter?.[Symbol.dispose]()
  await display?.[Symbol.asyncDispose]()
})

/** This X server has no desktop, whose start would be waited for. */
async function requireUp() {
  return (await desktop.current())!
}

type Query = Readonly<Record<string, string>>

async function shoot(query: Query = {}) {
  const { screenshot } = screenshotRoute({ requireUp } as Desktop, new Privacy())
  const answer = await screenshot({ query: { format: 'png', ...query }, signal } as never)
  const { bytes, headers } = answer as { bytes: Buffer; headers: Query }
  const picture = sharp(bytes).removeAlpha().raw()
  const { data, info } = await picture.toBuffer({ resolveWithObject: true })
  assert.deepEqual(
    [String(info.width), String(info.height)],
    [headers['x-image-width'], headers['x-image-height']],
  )
  return {
    headers,
    size: [info.width, info.height],
    colourAt: (x: number, y: number) => data.readUIntBE((y * info.width + x) * 3, 3),
  }
}

/** Draws again and again until it is disposed of. */
function keepDrawing(everyMs: number, draw: (count: number) => Promise<void>) {
  let isOver = false
  const work = async () => {
    for (let count = 0; !isOver; count++) {
      await draw(count)
      await pause(everyMs)
    }
  }
  const done = work()
  return {
    async [Symbol.asyncDispose]() {
      isOver = true
      await done
    },
  }
}

test('without a wait the picture says nothing about movement', async () => {
  const { headers } = await shoot()
  assert.equal(headers['x-settled'], undefined)
})

test('a screen that is still has settled', async () => {
  const { headers } = await shoot({ settle_ms: '50' })
  assert.equal(headers['x-settled'], 'true')
})

test('a picture shows what was drawn while it waited', async () => {
  for (let round = 1; round <= 20; round++) {
    const colour = round * 0x0a0a0a
    const drawing = pause(round * 5).then(() => painter.fill(box, colour))
    const { headers, colourAt } = await shoot({ settle_ms: '200' })
    await drawing
    assert.equal(headers['x-settled'], 'true')
    assert.equal(colourAt(120, 120), colour)
  }
})

test('each change starts the wait again', async () => {
  let drawn = 0
  const drawing = (async () => {
    for (let step = 1; step <= 6; step++) {
      await pause(300)
      await painter.fill(box, step)
      drawn = step
    }
  })()
  const { headers, colourAt } = await shoot({ settle_ms: '1000' })
  assert.deepEqual([drawn, headers['x-settled'], colourAt(120, 120)], [6, 'true', 6])
  await drawing
})

test('a screen that never settles is shown when the time is up, with the place that moves', async () => {
  await using _ = keepDrawing(20, async (count) => {
    await painter.fill(box, count * 77)
  })
  const { headers } = await shoot({ settle_ms: '200', timeout_ms: '600' })
  assert.equal(headers['x-settled'], 'false')
  const [x, y, width, height] = headers['x-changing']!.split(',').map(Number)
  assert.deepEqual([x, y, width, height], [96, 96, 48, 48])

  const elsewhere = await shoot({ settle_ms: '200', timeout_ms: '5000', region: '0,0,96,96' })
  assert.equal(elsewhere.headers['x-settled'], 'true')
  const ignore = '90,90,20,60;105,90,60,60'
  const ignoring = await shoot({ settle_ms: '200', timeout_ms: '5000', ignore })
  assert.equal(ignoring.headers['x-settled'], 'true')
})

test('a caret that blinks is still', async () => {
  const caret = { x: 300, y: 300, width: 2, height: 18 }
  await using _ = keepDrawing(300, async (count) => {
    await painter.fill(caret, count % 2 ? 0xffffff : 0)
  })
  // Seen often enough to be known.
  await shoot({ settle_ms: '1500', timeout_ms: '30000' })
  for (let round = 0; round < 4; round++) {
    const { headers } = await shoot({ settle_ms: '1000', timeout_ms: '1500' })
    assert.equal(headers['x-settled'], 'true')
  }
})

test('a region is shown alone, and scaled', async () => {
  await painter.fill({ x: 0, y: 0, width: 1280, height: 800 }, 0)
  await painter.fill(box, 0x336699)
  const part = await shoot({ region: '100,100,41,40' })
  assert.deepEqual(part.size, [41, 40])
  assert.deepEqual([part.colourAt(0, 0), part.colourAt(40, 0)], [0x336699, 0])
  const small = await shoot({ max_width: '640' })
  assert.deepEqual(small.size, [640, 400])
  assert.equal(small.colourAt(60, 60), 0x336699)
  const scaled = await shoot({ region: '100,100,40,40', scale: '0.5' })
  assert.deepEqual(scaled.size, [20, 20])
  for (const region of ['1270,0,20,20', '0,790,20,20']) {
    await assert.rejects(shoot({ region }), /region/)
  }
})

test('a resize while it waits is shown', async () => {
  const resizing = pause(50).then(async () => {
    const { xSession } = await requireUp()
    await resizeDisplay(xSession, display.rfbSocketPath, { width: 1024, height: 768 })
  })
  const { size, headers } = await shoot({ settle_ms: '300' })
  await resizing
  assert.deepEqual(size, [1024, 768])
  assert.equal(headers['x-settled'], 'true')
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { startServer } from '../../sdk/test/server.ts'
import { renderImage, scaledSize, toDisplay } from '../src/images.ts'
import { connectHere, imageOf, textOf } from './client.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server

test('a display is scaled to the size models can view, keeping its aspect ratio', () => {
  const sizes = [
    [1280, 800, 1280, 800],
    [1024, 768, 1024, 768],
    [1600, 900, 1280, 720],
    [2560, 1600, 1280, 800],
    [7680, 4320, 1280, 720],
    [1080, 1920, 804, 1429],
    [1280, 1024, 1198, 959],
  ] as const
  for (const [width, height, shownWidth, shownHeight] of sizes)
    assert.deepEqual(scaledSize({ width, height }), { width: shownWidth, height: shownHeight })
})

test('image pixels map onto display pixels, corner to corner', () => {
  for (const [width, height] of [
    [1280, 800],
    [1366, 768],
    [2560, 1440],
    [7680, 4320],
    [1080, 1920],
  ] as const) {
    const display = { width, height }
    const shown = scaledSize(display)
    const map = (x: number, y: number) => toDisplay({ x, y }, shown, display)
    const scale = width / shown.width
    const first = map(0, 0)
    const last = map(shown.width - 1, shown.height - 1)
    assert.ok(first.x < scale && first.y <= scale)
    assert.ok(last.x < width && last.x >= width - scale && last.y < height, `${width}x${height}`)
    if (scale === 1)
      assert.deepEqual(
        [first, last],
        [
          { x: 0, y: 0 },
          { x: width - 1, y: height - 1 },
        ],
      )
  }
})

test('an image that is large as PNG is sent as JPEG', async () => {
  const noise = randomBytes(640 * 480 * 3)
  const raw = { width: 640, height: 480, channels: 3 } as const
  const shown = await renderImage(await sharp(noise, { raw }).png().toBuffer())
  assert.equal((shown.content as { mimeType: string }).mimeType, 'image/jpeg')
})

test('a click lands at the display point under the given image point', async (t) => {
  const machine = await server.connect().machines.create({ name: 'wide' })
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const resize = async (width: number, height: number) => {
    await machine.display.resize(width, height)
    await machine.input.close()
  }
  const click = (x: number, y: number) => ['click', { machine: 'wide', x, y }] as const

  await resize(2560, 1600)
  const shot = await mcp.call('screenshot', { machine: 'wide' })
  const { width, height } = await sharp(imageOf(shot).bytes).metadata()
  assert.deepEqual([width, height], [1280, 800])
  assert.match(textOf(shot), /1280x800 pixels.*2560x1600/)
  await mcp.ok(...click(639, 400))
  assert.deepEqual(pointer(), { x: 1279, y: 801 })
  await mcp.ok('drag', { machine: 'wide', from_x: 0, from_y: 0, to_x: 1279, to_y: 799 })
  assert.deepEqual(pointer(), { x: 2559, y: 1599 })
  assert.match(await mcp.refused(...click(1280, 0)), /1280x800/)

  await mcp.connection.computer[Symbol.asyncDispose]()
  await resize(1024, 768)
  assert.match(await mcp.refused(...click(10, 10)), /changed size.*screenshot/)
  assert.deepEqual(pointer(), { x: 2559, y: 1599 })
  await mcp.ok('screenshot', { machine: 'wide' })
  await mcp.ok(...click(10, 10))
  assert.deepEqual(pointer(), { x: 10, y: 10 })

  function pointer() {
    const moves = server.guest(machine.id).desktop.events.flatMap(({ event }) => {
      const move = /^move (\d+),(\d+)$/.exec(event)
      return move ? [{ x: Number(move[1]), y: Number(move[2]) }] : []
    })
    return moves.at(-1)
  }
})

test('each action answers with a picture of the screen after it', async (t) => {
  const machine = 'pictured'
  await server.connect().machines.create({ name: machine })
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const pictures = new Set<string>()
  for (const [name, input, done] of [
    [
      'click',
      { x: 10, y: 10 },
      /^Clicked at \(10, 10\) on pictured\. The screen of pictured: 1280x800/,
    ],
    ['move_mouse', { x: 20, y: 20 }, /^Moved/],
    ['drag', { from_x: 20, from_y: 20, to_x: 30, to_y: 30 }, /^Dragged/],
    ['scroll', { x: 40, y: 40, direction: 'down' }, /^Scrolled/],
    ['type_text', { text: 'text' }, /^Typed/],
    ['press_keys', { keys: 'Return' }, /^Pressed/],
  ] as const) {
    const result = await mcp.call(name, { machine, ...input })
    assert.match(textOf(result).replace('<image>\n', ''), done)
    pictures.add(Buffer.from(imageOf(result).bytes).toString('base64'))
  }
  assert.equal(pictures.size, 6)
})

test('input on a screen that has changed is not done, and the model is shown the new one', async (t) => {
  const machine = 'changed'
  const other = await server.connect().machines.create({ name: machine })
  const change = async () => {
    await other.mouse.move(1, 1)
    await other.input.close()
  }
  const click = ['click', { machine, x: 10, y: 10 }] as const
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await mcp.ok('screenshot', { machine })
  await change()
  const result = await mcp.call(...click)
  const told = /^Nothing was done, because the screen has changed\. See the screen .* on changed\./
  assert.match(textOf(result).replace('<image>\n', ''), told)
  assert.ok(imageOf(result).bytes.length > 0)
  assert.match(await mcp.ok(...click), /Clicked/)

  const careless = await connectHere(t, { apiKey, baseUrl, guard: false })
  await mcp.connection[Symbol.asyncDispose]()
  await careless.ok('screenshot', { machine })
  await change()
  assert.match(await careless.ok(...click), /Clicked/)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { anthropicComputerTool, type AnthropicAction } from '../src/adapters/anthropic.ts'
import { openAiComputerTool, type OpenAiAction } from '../src/adapters/openai.ts'
import { decodePng, encodePng, scaleDown } from '../src/adapters/png.ts'
import { fromDisplay, toDisplay, viewOf } from '../src/adapters/view.ts'
import { createNetwork, type Sent } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const network = createNetwork()
const machine = await server.connect({ fetch: network.fetch }).machines.create()
await machine.display.resize(1920, 1200)

/** The mouse and keyboard calls with their bodies, without the lease calls. */
async function inputsOf(work: () => Promise<unknown>): Promise<unknown[]> {
  network.sent.splice(0)
  await work()
  return network.sent
    .filter(({ what }) => /\/(mouse|keyboard)\//.test(what))
    .map(({ what, body }: Sent) => [
      what.split('/').slice(-2).join('/'),
      JSON.parse(body as string),
    ])
}

test('every view pixel maps into the display and back to itself', () => {
  for (const [width, height] of [
    [3840, 2160],
    [1281, 799],
    [2560, 1440],
    [7680, 320],
  ] as const) {
    const view = viewOf({ width, height }, { longestEdge: 1568, pixels: 1_150_000 })
    assert.ok(Math.max(view.width, view.height) <= 1568)
    assert.ok(view.width * view.height <= 1_150_000)
    for (let x = 0; x < view.width; x++) {
      const y = x % view.height
      const there = toDisplay(view, { x, y })
      assert.ok(there.x >= 0 && there.x < width && there.y >= 0 && there.y < height)
      assert.deepEqual(fromDisplay(view, there), { x, y })
    }
    assert.deepEqual(toDisplay(view, { x: -5, y: 99_999 }), {
      x: toDisplay(view, { x: 0, y: 0 }).x,
      y: toDisplay(view, { x: 0, y: view.height - 1 }).y,
    })
  }
  const whole = viewOf({ width: 1280, height: 800 }, { longestEdge: 1568, pixels: 1_150_000 })
  assert.deepEqual(toDisplay(whole, { x: 1279, y: 7 }), { x: 1279, y: 7 })
})

test('images are decoded, scaled and encoded such that another program can read them', async () => {
  const [width, height] = [40, 30]
  const noise = Buffer.from(
    Array.from({ length: width * height * 3 }, (_, index) => (index * 7919) % 256),
  )
  const raw = sharp(noise, { raw: { width, height, channels: 3 } })
  for (const options of [
    {},
    { palette: true, colours: 200 },
    { palette: true, colours: 2 },
    { adaptiveFiltering: true },
  ]) {
    const png = await raw.clone().png(options).toBuffer()
    const picture = await decodePng(png)
    const expected = await sharp(png).ensureAlpha().raw().toBuffer()
    assert.deepEqual(Buffer.from(picture.rgba), expected)
    const again = await sharp(Buffer.from(await encodePng(picture)))
      .ensureAlpha()
      .raw()
      .toBuffer()
    assert.deepEqual(again, expected)
  }
  const checkered = Uint8Array.from({ length: 16 * 4 }, (_, index) =>
    index % 4 === 3 ? 255 : (index >> 2) % 2 ? 200 : 100,
  )
  const small = scaleDown({ width: 4, height: 4, rgba: checkered }, 2, 2)
  assert.deepEqual([...small.rgba], Array.from({ length: 4 }, () => [150, 150, 150, 255]).flat())
})

test('every Anthropic action maps to the right input at the right point', async () => {
  const { tool, execute } = await anthropicComputerTool(machine)
  const { display_width_px: width, display_height_px: height } = tool
  assert.deepEqual(
    [tool.type, tool.name, tool.enable_zoom],
    ['computer_20251124', 'computer', true],
  )
  assert.ok(width * height <= 1_150_000)
  const at = [100, 200]
  const there = { x: Math.floor((100.5 * 1920) / width), y: Math.floor((200.5 * 1200) / height) }
  const click = (rest: object) => [['mouse/click', { at: there, ...rest }]]
  const cases: [AnthropicAction, unknown[]][] = [
    [{ action: 'screenshot' }, []],
    [{ action: 'left_click', coordinate: at }, click({ button: 'left', count: 1 })],
    [{ action: 'right_click', coordinate: at }, click({ button: 'right', count: 1 })],
    [{ action: 'middle_click', coordinate: at }, click({ button: 'middle', count: 1 })],
    [{ action: 'double_click', coordinate: at }, click({ button: 'left', count: 2 })],
    [{ action: 'triple_click', coordinate: at }, click({ button: 'left', count: 3 })],
    [{ action: 'left_click' }, [['mouse/click', { button: 'left', count: 1 }]]],
    [
      { action: 'left_click', coordinate: at, text: 'shift' },
      [
        ['keyboard/key', { key: 'shift', down: true }],
        ...click({ button: 'left', count: 1 }),
        ['keyboard/key', { key: 'shift', up: true }],
      ],
    ],
    [{ action: 'mouse_move', coordinate: at }, [['mouse/move', there]]],
    [{ action: 'left_mouse_down' }, [['mouse/click', { down: true }]]],
    [{ action: 'left_mouse_up' }, [['mouse/click', { up: true }]]],
    [
      { action: 'left_click_drag', start_coordinate: at, coordinate: at },
      [['mouse/drag', { from: there, to: there }]],
    ],
    [
      { action: 'scroll', coordinate: at, scroll_direction: 'down', scroll_amount: 5 },
      [['mouse/scroll', { direction: 'down', amount: 5, at: there }]],
    ],
    [{ action: 'type', text: 'Hällo\n' }, [['keyboard/type', { text: 'Hällo\n' }]]],
    [{ action: 'key', text: 'Return' }, [['keyboard/key', { key: 'Return' }]]],
    [{ action: 'key', text: 'ctrl+s' }, [['keyboard/hotkey', { keys: ['ctrl', 's'] }]]],
    [
      { action: 'hold_key', text: 'shift', duration: 0 },
      [
        ['keyboard/key', { key: 'shift', down: true }],
        ['keyboard/key', { key: 'shift', up: true }],
      ],
    ],
    [{ action: 'wait', duration: 0 }, []],
  ]
  for (const [action, expected] of cases) {
    const inputs = await inputsOf(async () => {
      const [shown] = await execute(action)
      assert.ok(shown?.type === 'image')
      const picture = await sharp(Buffer.from(shown.source.data, 'base64')).metadata()
      assert.deepEqual([picture.width, picture.height], [width, height])
    })
    assert.deepEqual(inputs, expected, JSON.stringify(action))
  }
  const [zoomed] = await execute({ action: 'zoom', region: [0, 0, 99, 49] })
  assert.ok(zoomed?.type === 'image')
  const picture = await sharp(Buffer.from(zoomed.source.data, 'base64')).metadata()
  assert.ok(picture.width! > 99 && picture.height! > 49)
  await assert.rejects(execute({ action: 'dance' }), /unknown action: dance/)
})

test('every OpenAI action maps to the right input at the right point', async () => {
  const { tool, execute } = await openAiComputerTool(machine)
  const { display_width: width, display_height: height } = tool
  const at = { x: 100, y: 200 }
  const there = { x: Math.floor((100.5 * 1920) / width), y: Math.floor((200.5 * 1200) / height) }
  const cases: [OpenAiAction, unknown[]][] = [
    [{ type: 'screenshot' }, []],
    [{ type: 'click', button: 'left', ...at }, [['mouse/click', { at: there, button: 'left' }]]],
    [{ type: 'click', button: 'right', ...at }, [['mouse/click', { at: there, button: 'right' }]]],
    [{ type: 'click', button: 'wheel', ...at }, [['mouse/click', { at: there, button: 'middle' }]]],
    [{ type: 'click', button: 'back', ...at }, [['keyboard/hotkey', { keys: ['alt', 'left'] }]]],
    [{ type: 'double_click', ...at }, [['mouse/click', { at: there, count: 2 }]]],
    [{ type: 'move', ...at }, [['mouse/move', there]]],
    [
      { type: 'scroll', scroll_x: 0, scroll_y: -250, ...at },
      [['mouse/scroll', { direction: 'up', at: there, amount: 3 }]],
    ],
    [
      { type: 'scroll', scroll_x: 10, scroll_y: 0, ...at },
      [['mouse/scroll', { direction: 'right', at: there, amount: 1 }]],
    ],
    [{ type: 'type', text: 'Hällo' }, [['keyboard/type', { text: 'Hällo' }]]],
    [
      { type: 'keypress', keys: ['CTRL', 'ArrowDown'] },
      [['keyboard/hotkey', { keys: ['CTRL', 'down'] }]],
    ],
    [
      { type: 'drag', path: [at, at] },
      [
        ['mouse/move', there],
        ['mouse/click', { down: true }],
        ['mouse/move', there],
        ['mouse/click', { up: true }],
      ],
    ],
    [{ type: 'wait' }, []],
  ]
  for (const [action, expected] of cases) {
    const inputs = await inputsOf(async () => {
      const { image_url: url } = await execute(action)
      assert.match(url, /^data:image\/png;base64,/)
    })
    assert.deepEqual(inputs, expected, JSON.stringify(action))
  }
  const both = await inputsOf(() =>
    execute([
      { type: 'move', ...at },
      { type: 'click', ...at },
    ]),
  )
  assert.equal(both.length, 2)
})

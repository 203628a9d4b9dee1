import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { anthropicComputerTool, type AnthropicToolResult } from '../../src/adapters/anthropic.ts'
import { startMachine } from './machine.ts'

const { server, machine, inputsOf, askForHelp } = await startMachine({ after })

function imageIn({ tool_use_id, is_error, content }: AnthropicToolResult): Buffer {
  assert.deepEqual([tool_use_id, is_error], ['toolu_1', undefined])
  const [shown, ...rest] = content
  assert.ok(shown?.type === 'image' && rest.length === 0, JSON.stringify(content).slice(0, 200))
  return Buffer.from(shown.source.data, 'base64')
}

test('every action maps to the right input at the right point', async () => {
  const computer = await anthropicComputerTool(machine, { settleMs: 0 })
  const { tool } = computer
  const { display_width_px: width, display_height_px: height } = tool
  assert.deepEqual(
    [tool.type, tool.name, tool.enable_zoom],
    ['computer_20251124', 'computer', true],
  )
  assert.ok(width * height <= 1_150_000)
  const at = [100, 200]
  const there = { x: Math.floor((100.5 * 1920) / width), y: Math.floor((200.5 * 1200) / height) }
  const click = (rest: object) => [['mouse/click', { at: there, ...rest }]]
  const cases: [Readonly<Record<string, unknown>>, unknown[]][] = [
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
      { action: 'key', text: 'Down Down' },
      [
        ['keyboard/key', { key: 'Down' }],
        ['keyboard/key', { key: 'Down' }],
      ],
    ],
    [
      { action: 'hold_key', text: 'shift', duration: 0 },
      [
        ['keyboard/key', { key: 'shift', down: true }],
        ['keyboard/key', { key: 'shift', up: true }],
      ],
    ],
    [{ action: 'wait', duration: 0 }, []],
  ]
  for (const [input, expected] of cases) {
    const inputs = await inputsOf(async () => {
      const bytes = imageIn(await computer.execute({ id: 'toolu_1', input }))
      const picture = await sharp(bytes).metadata()
      assert.deepEqual([picture.width, picture.height], [width, height])
    })
    assert.deepEqual(inputs, expected, JSON.stringify(input))
  }
})

test('a zoom shows its region at full resolution', async () => {
  const { execute } = await anthropicComputerTool(machine, { settleMs: 0 })
  const input = { action: 'zoom', region: [0, 0, 99, 49] }
  const { width, height } = await sharp(imageIn(await execute({ id: 'toolu_1', input }))).metadata()
  assert.ok(width > 99 && width <= 160 && height > 49 && height <= 80)
})

test("a model's mistakes become results, and nothing is done", async () => {
  const { execute, tool } = await anthropicComputerTool(machine, { settleMs: 0 })
  const { display_width_px: width } = tool
  const cases: [unknown, RegExp][] = [
    [{ action: 'dance' }, /there is no action "dance"/],
    [{}, /requires action/],
    ['left_click', /must be an object/],
    [null, /must be an object/],
    [{ action: 7 }, /action must be a string/],
    [{ action: 'left_click', coordinate: [99_999, 3] }, /99999,3 is outside the screenshot/],
    [{ action: 'left_click', coordinate: [width, 3] }, /outside the screenshot/],
    [{ action: 'left_click', coordinate: '[3, 4]' }, /coordinate must be a list of 2 numbers/],
    [{ action: 'left_click', coordinate: [3, null] }, /coordinate must be a list of 2 numbers/],
    [{ action: 'mouse_move' }, /requires coordinate/],
    [{ action: 'left_click_drag', coordinate: [1, 1], start_coordinate: [-1, 1] }, /outside/],
    [{ action: 'scroll', scroll_direction: 'sideways' }, /one of up, down, left, right/],
    [{ action: 'type' }, /requires text/],
    [{ action: 'cursor_position' }, /take a screenshot/],
    [{ action: 'zoom', region: [0, 0, 1] }, /region must be a list of 4 numbers/],
    [{ action: 'zoom', region: [0, 0, 99_999, 1] }, /outside/],
  ]
  for (const [input, expected] of cases) {
    const inputs = await inputsOf(async () => {
      const result = await execute({ id: 'toolu_1', input })
      assert.deepEqual([result.tool_use_id, result.is_error], ['toolu_1', true])
      const [told, ...rest] = result.content
      assert.ok(told?.type === 'text' && rest.length === 0)
      assert.match(told.text, expected)
    })
    assert.deepEqual(inputs, [], JSON.stringify(input))
  }
  const unknownKey = await execute({ id: 'toolu_1', input: { action: 'key', text: 'Retrun' } })
  assert.equal(unknownKey.is_error, true)
  assert.match(JSON.stringify(unknownKey.content), /Retrun/)
})

test('an action on a screen that has changed is not done, and the model is shown the new one', async () => {
  const { execute } = await anthropicComputerTool(machine, { settleMs: 0 })
  const look = () => execute({ id: 'toolu_1', input: { action: 'screenshot' } })
  const click = { id: 'toolu_1', input: { action: 'left_click', coordinate: [3, 4] } }
  imageIn(await look())
  await machine.mouse.move(1, 1)
  const { is_error, content } = await execute(click)
  const [told, shown, ...rest] = content
  assert.ok(told?.type === 'text' && shown?.type === 'image' && rest.length === 0)
  assert.equal(is_error, undefined)
  assert.match(told.text, /^Nothing was done, because the screen has changed\. Here is/)
  imageIn(await execute(click))
  imageIn(await execute(click))

  const careless = await anthropicComputerTool(machine, { settleMs: 0, guard: false })
  await careless.execute({ id: 'toolu_1', input: { action: 'screenshot' } })
  await machine.mouse.move(1, 1)
  imageIn(await careless.execute(click))
})

test('after a person had the screen, an action on the picture from before is not done', async () => {
  const { execute } = await anthropicComputerTool(machine, { settleMs: 0 })
  const click = { id: 'toolu_1', input: { action: 'left_click', coordinate: [3, 4] } }
  imageIn(await execute(click))
  await askForHelp()
  const { content } = await execute(click)
  assert.ok(content[0]?.type === 'text' && content[1]?.type === 'image')
  assert.match(content[0].text, /^Nothing was done/)
  imageIn(await execute(click))
})

test('the tool follows the size of the display', async () => {
  const small = await server.connect().machines.create()
  const computer = await anthropicComputerTool(small, { settleMs: 0 })
  await small.display.resize(800, 600)
  imageIn(await computer.execute({ id: 'toolu_1', input: { action: 'screenshot' } }))
  const { display_width_px, display_height_px } = computer.tool
  assert.deepEqual([display_width_px, display_height_px], [800, 600])
})

test('an action that another session prevents throws', async () => {
  const { execute } = await anthropicComputerTool(machine, { settleMs: 0 })
  const other = await server.connect().machines.get(machine.id)
  await other.input.acquire({ force: true })
  const input = { action: 'type', text: 'lost' }
  await assert.rejects(execute({ id: 'toolu_1', input }), { code: 'conflict' })
  await other.input.close()
})

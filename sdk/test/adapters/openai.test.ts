import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import sharp from 'sharp'
import {
  openAiComputerTool,
  type OpenAiCallOutput,
  type OpenAiMessage,
} from '../../src/adapters/openai.ts'
import { startMachine } from './machine.ts'

const { server, machine, inputsOf, askForHelp } = await startMachine({ after })
const at = { x: 100, y: 200 }

async function sizeIn(item: OpenAiCallOutput | OpenAiMessage | undefined) {
  assert.ok(item?.type === 'computer_call_output' && item.call_id === 'call_1')
  const [start, data] = item.output.image_url.split(',') as [string, string]
  assert.equal(start, 'data:image/png;base64')
  const { width, height } = await sharp(Buffer.from(data, 'base64')).metadata()
  return { width, height }
}

test('every action maps to the right input at the right point', async () => {
  const { tool, execute } = await openAiComputerTool(machine, {
    version: 'computer_use_preview',
    settleMs: 0,
  })
  assert.ok(tool.type === 'computer_use_preview')
  const { display_width: width, display_height: height } = tool
  const there = { x: Math.floor((100.5 * 1920) / width), y: Math.floor((200.5 * 1200) / height) }
  const cases: [Readonly<Record<string, unknown>>, unknown[]][] = [
    [{ type: 'screenshot' }, []],
    [{ type: 'click', button: 'left', ...at }, [['mouse/click', { at: there, button: 'left' }]]],
    [{ type: 'click', button: 'right', ...at }, [['mouse/click', { at: there, button: 'right' }]]],
    [{ type: 'click', button: 'wheel', ...at }, [['mouse/click', { at: there, button: 'middle' }]]],
    [{ type: 'click', button: 'back', ...at }, [['keyboard/hotkey', { keys: ['alt', 'left'] }]]],
    [{ type: 'double_click', ...at }, [['mouse/click', { at: there, count: 2 }]]],
    [{ type: 'move', ...at }, [['mouse/move', there]]],
    [
      { type: 'click', button: 'left', keys: ['CTRL'], ...at },
      [
        ['keyboard/key', { key: 'CTRL', down: true }],
        ['mouse/click', { at: there, button: 'left' }],
        ['keyboard/key', { key: 'CTRL', up: true }],
      ],
    ],
    [
      { type: 'scroll', scroll_x: 0, scroll_y: -250, keys: null, ...at },
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
    [{ type: 'keypress', keys: ['CTRL', 'A'] }, [['keyboard/hotkey', { keys: ['CTRL', 'a'] }]]],
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
      const items = await execute({ call_id: 'call_1', action })
      assert.equal(items.length, 1, JSON.stringify(items[1]))
      assert.deepEqual(await sizeIn(items[0]), { width, height })
    })
    assert.deepEqual(inputs, expected, JSON.stringify(action))
  }
})

test('the actions of a call are performed in order, up to a mistake', async () => {
  const { tool, execute } = await openAiComputerTool(machine, { settleMs: 0 })
  assert.deepEqual(tool, { type: 'computer' })
  const move = { type: 'move', ...at }
  const both = await inputsOf(async () => {
    const items = await execute({ call_id: 'call_1', actions: [move, { type: 'click', ...at }] })
    assert.equal(items.length, 1)
  })
  assert.equal(both.length, 2)

  const cases: [unknown, RegExp][] = [
    [{ type: 'click', x: 5000, y: 3 }, /^Action 2 of 3 .* after it: 5000,3 is outside/],
    [{ type: 'click', x: '5', y: 3 }, /x must be a number/],
    [{ type: 'click', ...at, button: 'other' }, /button must be one of/],
    [{ type: 'dance' }, /there is no action "dance"/],
    [{ type: 'drag', path: [] }, /path must have a point/],
    [{ type: 'drag', path: [at, { x: 1 }] }, /path must be a list of points/],
    [{ type: 'keypress', keys: 'enter' }, /keys must be a list of strings/],
    [{ type: 'keypress', keys: ['Retrun'] }, /Retrun/],
    [null, /must be an object/],
  ]
  for (const [mistake, expected] of cases) {
    const [output, message, ...rest] = await execute({
      call_id: 'call_1',
      actions: [move, mistake, { type: 'type', text: 'never typed' }],
    })
    await sizeIn(output)
    assert.ok(message?.type === 'message' && rest.length === 0, JSON.stringify(mistake))
    assert.match(message.content, expected)
  }
})

test('actions on a screen that has changed are not done, and the model is shown the new one', async () => {
  const { execute } = await openAiComputerTool(machine, { settleMs: 0 })
  const actions = [
    { type: 'move', ...at },
    { type: 'type', text: 'x' },
  ]
  await execute({ call_id: 'call_1', actions: [] })
  await machine.mouse.move(1, 1)
  const [output, message] = await execute({ call_id: 'call_1', actions })
  await sizeIn(output)
  assert.ok(message?.type === 'message')
  assert.match(message.content, /^Action 1 of 2 .* those after it: Nothing was done, because/)
  assert.equal((await execute({ call_id: 'call_1', actions })).length, 1)
})

test('after a person had the screen, actions on the picture from before are not done', async () => {
  const { execute } = await openAiComputerTool(machine, { settleMs: 0 })
  const call = { call_id: 'call_1', actions: [{ type: 'move', ...at }] }
  await sizeIn((await execute({ ...call, actions: [] }))[0])
  await askForHelp()
  const [output, message] = await execute(call)
  await sizeIn(output)
  assert.ok(message?.type === 'message')
  assert.match(message.content, /^The action was not done: Nothing was done, because/)
  assert.equal((await execute(call)).length, 1)
})

test('pending safety checks are acknowledged by the program, or nothing is done', async () => {
  const checks = [{ id: 'cu_sc_1', code: 'malicious_instructions', message: 'Is it meant?' }]
  const call = {
    call_id: 'call_1',
    action: { type: 'move', ...at },
    pending_safety_checks: checks,
  }
  for (const acknowledge of [undefined, () => false]) {
    const { execute } = await openAiComputerTool(machine, { settleMs: 0, acknowledge })
    const inputs = await inputsOf(() => assert.rejects(execute(call), /Is it meant\?/))
    assert.deepEqual(inputs, [])
  }
  const { execute } = await openAiComputerTool(machine, {
    settleMs: 0,
    acknowledge: async (given) => given === checks,
  })
  const [output] = await execute(call)
  assert.ok(output?.type === 'computer_call_output')
  assert.deepEqual(output.acknowledged_safety_checks, checks)
})

test('a call that another session prevents throws', async () => {
  const { execute } = await openAiComputerTool(machine, { settleMs: 0 })
  const other = await server.connect().machines.get(machine.id)
  await other.input.acquire({ force: true })
  const action = { type: 'type', text: 'lost' }
  await assert.rejects(execute({ call_id: 'call_1', action }), { code: 'conflict' })
  await other.input.close()
})

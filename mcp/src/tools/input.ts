import type { Machine } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { shownSize, toDisplay, type Point } from '../pictures.ts'
import { changes, Refusal, tool, type Call, type Tool } from '../tool.ts'

const x = z.int().min(0).describe('Pixels from the left edge of the last screenshot.')
const y = z.int().min(0).describe('Pixels from the top edge of the last screenshot.')
const button = z.enum(['left', 'middle', 'right']).optional().describe('Default: left.')

/** What a click sets off is not known here: it may send a form or delete a file. */
const acts = { ...changes, destructiveHint: true, openWorldHint: true }

export const inputTools: readonly Tool[] = [
  tool({
    name: 'click',
    title: 'Click',
    description:
      'Click at a point of the screen. Use it after a screenshot, and aim at the middle of what you ' +
      'want to hit; take another screenshot afterwards to see what it did.',
    input: z.strictObject({
      machine,
      x,
      y,
      button,
      count: z.int().min(1).max(3).optional().describe('2 is a double click. Default: 1.'),
    }),
    annotations: acts,
    run: (call, { x, y, button, count, ...input }) =>
      act(call, input.machine, `Clicked at (${x}, ${y})`, async (found) => {
        const { signal } = call
        const locate = await locator(call, found)
        const point = locate({ x, y })
        await found.mouse.click(point.x, point.y, { button, count, signal })
      }),
  }),
  tool({
    name: 'move_mouse',
    title: 'Move the mouse',
    description:
      'Move the pointer to a point of the screen without a click. Use it for what shows when the ' +
      'pointer rests on something, such as a menu or a hint; click moves there by itself.',
    input: z.strictObject({ machine, x, y }),
    annotations: { ...changes, idempotentHint: true },
    run: (call, { x, y, ...input }) =>
      act(call, input.machine, `Moved to (${x}, ${y})`, async (found) => {
        const locate = await locator(call, found)
        const point = locate({ x, y })
        await found.mouse.move(point.x, point.y, { signal: call.signal })
      }),
  }),
  tool({
    name: 'drag',
    title: 'Drag',
    description:
      'Press a mouse button at one point and release it at another. Use it to move things, to mark ' +
      'text and for sliders.',
    input: z.strictObject({ machine, from_x: x, from_y: y, to_x: x, to_y: y, button }),
    annotations: acts,
    run: (call, { button, ...input }) => {
      const from = { x: input.from_x, y: input.from_y }
      const to = { x: input.to_x, y: input.to_y }
      const done = `Dragged from (${from.x}, ${from.y}) to (${to.x}, ${to.y})`
      return act(call, input.machine, done, async (found) => {
        const { signal } = call
        const locate = await locator(call, found)
        await found.mouse.drag(locate(to), { from: locate(from), button, signal })
      })
    },
  }),
  tool({
    name: 'scroll',
    title: 'Scroll',
    description:
      'Turn the mouse wheel over a point of the screen. Use it to see more of a page or a list; ' +
      'press_keys with "Page_Down" or "End" goes further at once.',
    input: z.strictObject({
      machine,
      x,
      y,
      direction: z.enum(['up', 'down', 'left', 'right']),
      amount: z.int().min(1).max(50).optional().describe('Notches of the wheel. Default: 3.'),
    }),
    annotations: changes,
    run: (call, { x, y, direction, amount, ...input }) =>
      act(call, input.machine, `Scrolled ${direction}`, async (found) => {
        const { signal } = call
        const locate = await locator(call, found)
        await found.mouse.scroll(direction, { at: locate({ x, y }), amount, signal })
      }),
  }),
  tool({
    name: 'type_text',
    title: 'Type text',
    description:
      'Type text on the keyboard of a machine, into whatever has the focus: click there first. A ' +
      'line break presses Enter, a tab presses Tab. For single keys and shortcuts use press_keys; ' +
      'to write a file use write_file, to run a command run_command.',
    input: z.strictObject({ machine, text: z.string().min(1).max(50_000) }),
    annotations: acts,
    run: (call, { text, ...input }) =>
      act(call, input.machine, `Typed ${text.length} characters`, (found) =>
        found.keyboard.type(text, { signal: call.signal }),
      ),
  }),
  tool({
    name: 'press_keys',
    title: 'Press keys',
    description:
      'Press a key or a combination on the keyboard of a machine: "Return", "Escape", "Page_Down", ' +
      '"F5", "ctrl+l", "ctrl+shift+t", "alt+F4". To type text use type_text.',
    input: z.strictObject({
      machine,
      keys: z.string().min(1).max(100).describe('Names of X keys, joined by +.'),
      repeat: z.int().min(1).max(50).optional().describe('How many times. Default: 1.'),
    }),
    annotations: acts,
    run: (call, { keys, repeat = 1, ...input }) =>
      act(call, input.machine, `Pressed ${keys}`, async (found) => {
        for (let times = 0; times < repeat; times++)
          await found.keyboard.press(keys, { signal: call.signal })
      }),
  }),
]

async function act(
  call: Call,
  wanted: string,
  done: string,
  send: (found: Machine) => Promise<void>,
): Promise<string> {
  const found = await call.connection.controls.use(() => findMachine(call, wanted), send)
  return `${done} on ${found.name}. Take a screenshot to see what it did.`
}

/** Maps points of the picture that the model was shown to the display, if that is still the same. */
async function locator({ connection, signal }: Call, found: Machine) {
  const display = await found.display.get({ signal })
  const { width, height } = shownSize(display)
  const before = connection.shown.get(found.id)
  return ({ x, y }: Point): Point => {
    if (before && (before.width !== display.width || before.height !== display.height)) {
      throw new Refusal(
        `The display of ${found.name} has another size than in your last screenshot. Nothing was ` +
          'done: take a screenshot and find the place again.',
      )
    }
    if (x >= width || y >= height) {
      throw new Refusal(
        `(${x}, ${y}) is outside the screen, which is ${width}x${height} pixels. Nothing was done: ` +
          'take a screenshot and find the place again.',
      )
    }
    return toDisplay({ x, y }, { width, height }, display)
  }
}

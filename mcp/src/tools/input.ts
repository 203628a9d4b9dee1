import { isStaleScreen, type InputOptions, type Machine } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { scaledSize, toDisplay, type Point } from '../images.ts'
import { showEffect } from '../show-screen.ts'
import { ToolError } from '../tool-error.ts'
import { mutating, tool, type ToolCall, type Tool, type ToolResult } from '../tool.ts'

const x = z.int().min(0).describe('Pixels from the left edge of the last picture.')
const y = z.int().min(0).describe('Pixels from the top edge of the last picture.')
const button = z.enum(['left', 'middle', 'right']).optional().describe('Default: left.')

/** The effect of input is unknown: a click may submit a form or delete a file. */
const unknownEffect = { ...mutating, destructiveHint: true, openWorldHint: true }

export const inputTools: readonly Tool[] = [
  tool({
    name: 'click',
    title: 'Click',
    description:
      'Click at a point on the screen. Use it after a screenshot, and aim at the center of the target. ' +
      'The answer is a picture of the screen afterwards.',
    input: z.strictObject({
      machine,
      x,
      y,
      button,
      count: z.int().min(1).max(3).optional().describe('2 is a double-click. Default: 1.'),
    }),
    annotations: unknownEffect,
    run: (call, { x, y, button, count, ...input }) =>
      act(call, input.machine, `Clicked at (${x}, ${y})`, async (found) => {
        const toPoint = await createPointMapper(call, found)
        const point = toPoint({ x, y })
        await found.mouse.click(point.x, point.y, { button, count, ...guard(call, found, point) })
      }),
  }),
  tool({
    name: 'move_mouse',
    title: 'Move the mouse',
    description:
      'Move the pointer to a point on the screen without clicking. Use it for hover effects, such as ' +
      'menus and tooltips; click moves the pointer by itself.',
    input: z.strictObject({ machine, x, y }),
    annotations: { ...mutating, idempotentHint: true },
    run: (call, { x, y, ...input }) =>
      act(call, input.machine, `Moved to (${x}, ${y})`, async (found) => {
        const toPoint = await createPointMapper(call, found)
        const point = toPoint({ x, y })
        await found.mouse.move(point.x, point.y, guard(call, found, point))
      }),
  }),
  tool({
    name: 'drag',
    title: 'Drag',
    description:
      'Press a mouse button at one point and release it at another. Use it to move items, ' +
      'select text and adjust sliders.',
    input: z.strictObject({ machine, from_x: x, from_y: y, to_x: x, to_y: y, button }),
    annotations: unknownEffect,
    run: (call, { button, ...input }) => {
      const from = { x: input.from_x, y: input.from_y }
      const to = { x: input.to_x, y: input.to_y }
      const done = `Dragged from (${from.x}, ${from.y}) to (${to.x}, ${to.y})`
      return act(call, input.machine, done, async (found) => {
        const toPoint = await createPointMapper(call, found)
        const options = guard(call, found, toPoint(from))
        await found.mouse.drag(toPoint(to), { from: toPoint(from), button, ...options })
      })
    },
  }),
  tool({
    name: 'scroll',
    title: 'Scroll',
    description:
      'Turn the mouse wheel at a point on the screen. Use it to see more of a page or a list; ' +
      'press_keys with "Page_Down" or "End" scrolls further at once.',
    input: z.strictObject({
      machine,
      x,
      y,
      direction: z.enum(['up', 'down', 'left', 'right']),
      amount: z.int().min(1).max(50).optional().describe('Wheel notches. Default: 3.'),
    }),
    annotations: mutating,
    run: (call, { x, y, direction, amount, ...input }) =>
      act(call, input.machine, `Scrolled ${direction}`, async (found) => {
        const toPoint = await createPointMapper(call, found)
        const at = toPoint({ x, y })
        await found.mouse.scroll(direction, { at, amount, ...guard(call, found, at) })
      }),
  }),
  tool({
    name: 'type_text',
    title: 'Type text',
    description:
      'Type text on the keyboard of a machine, into the focused window: click there first. A line ' +
      'break presses Enter, a tab presses Tab. For single keys and shortcuts use press_keys, to write ' +
      'a file use write_file, and to run a command use run_command.',
    input: z.strictObject({ machine, text: z.string().min(1).max(50_000) }),
    annotations: unknownEffect,
    run: (call, { text, ...input }) =>
      act(call, input.machine, `Typed ${text.length} characters`, (found) =>
        found.keyboard.type(text, guard(call, found)),
      ),
  }),
  tool({
    name: 'press_keys',
    title: 'Press keys',
    description:
      'Press a key or key combination on the keyboard of a machine, such as "Return", "Escape", "Page_Down", ' +
      '"F5", "ctrl+l", "ctrl+shift+t", "alt+F4". To type text use type_text.',
    input: z.strictObject({
      machine,
      keys: z.string().min(1).max(100).describe('X key names joined by +.'),
      repeat: z.int().min(1).max(50).optional().describe('Number of times. Default: 1.'),
    }),
    annotations: unknownEffect,
    run: (call, { keys, repeat = 1, ...input }) =>
      act(call, input.machine, `Pressed ${keys}`, async (found) => {
        for (let times = 0; times < repeat; times++)
          await found.keyboard.press(keys, guard(call, found))
      }),
  }),
]

async function act(
  call: ToolCall,
  ref: string,
  done: string,
  send: (found: Machine) => Promise<void>,
): Promise<ToolResult> {
  const { leases } = call.connection
  try {
    const found = await leases.use(() => findMachine(call, ref), send)
    return await showEffect(call, found, done)
  } catch (error) {
    if (!isStaleScreen(error)) throw error
    const why = `Nothing was done, because ${error.message.split('; ')[0]}. See the screen as it is now`
    return showEffect(call, await findMachine(call, ref), why)
  }
}

/**
 * The condition that nothing has changed, at a point or where the pointer is, since the last picture. Of calls that a
 * model makes in parallel only the first has it: the picture after it is none that the others were chosen from.
 */
function guard(
  { connection, arrivedAtMs, signal }: ToolCall,
  { id }: Machine,
  point?: Point,
): InputOptions {
  const view = connection.isGuarded ? connection.views.get(id) : undefined
  const isChosenFrom = view !== undefined && view.shownAtMs <= arrivedAtMs
  return { ...(isChosenFrom && view.guard.options(point)), signal }
}

/** Maps points of the last screenshot to the display, unless its size has changed since. */
async function createPointMapper({ connection, signal }: ToolCall, found: Machine) {
  const display = await found.display.get({ signal })
  const { width, height } = scaledSize(display)
  const before = connection.views.get(found.id)?.display
  return ({ x, y }: Point): Point => {
    if (before && (before.width !== display.width || before.height !== display.height)) {
      throw new ToolError(
        `The display of ${found.name} has changed size since your last screenshot. Nothing was ` +
          'done: take a new screenshot and find the point again.',
      )
    }
    if (x >= width || y >= height) {
      throw new ToolError(
        `(${x}, ${y}) is outside the screen, which is ${width}x${height} pixels. Nothing was done: ` +
          'take a new screenshot and find the point again.',
      )
    }
    return toDisplay({ x, y }, { width, height }, display)
  }
}

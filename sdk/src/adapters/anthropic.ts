import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { pause } from '../retry.ts'
import type { MouseButton } from '../wire/records.ts'
import { cut, encodePng, decodePng } from './png.ts'
import {
  base64,
  screenshotOf,
  toDisplay,
  viewOf,
  type Point,
  type View,
  type ViewLimits,
} from './view.ts'

/** What the tool's `tool_use` blocks carry as `input` (computer_20250124 and computer_20251124). */
export type AnthropicAction = {
  readonly action: string
  readonly coordinate?: readonly number[] | undefined
  readonly start_coordinate?: readonly number[] | undefined
  readonly text?: string | undefined
  readonly scroll_direction?: 'up' | 'down' | 'left' | 'right' | undefined
  readonly scroll_amount?: number | undefined
  /** In seconds. */
  readonly duration?: number | undefined
  /** Of `zoom`: left, top, right, bottom. */
  readonly region?: readonly number[] | undefined
}

/** What goes into `content` of the `tool_result` block. */
export type AnthropicContent = (
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image'
      readonly source: {
        readonly type: 'base64'
        readonly media_type: 'image/png'
        readonly data: string
      }
    }
)[]

export type AnthropicOptions = CallOptions & {
  /** Default: computer_20251124. */
  readonly version?: 'computer_20251124' | 'computer_20250124' | undefined
  /** The largest picture the model takes as it is. Default: 1568 pixels an edge, 1.15 million in all. */
  readonly limits?: ViewLimits | undefined
}

const defaultLimits: ViewLimits = { longestEdge: 1568, pixels: 1_150_000 }
const longestWaitSeconds = 300

/**
 * A machine as Anthropic's computer-use tool. `tool` goes into the request, `execute` answers the
 * `tool_use` blocks of its answers.
 */
export async function anthropicComputerTool(
  machine: Machine,
  { version = 'computer_20251124', limits = defaultLimits, ...options }: AnthropicOptions = {},
) {
  let view = viewOf(await machine.display.get(options), limits)

  async function look(): Promise<AnthropicContent> {
    const screenshot = await screenshotOf(machine, limits, options)
    view = screenshot.view
    return image(screenshot.base64)
  }

  return {
    /** The tool's definition. */
    tool: {
      type: version,
      name: 'computer' as const,
      display_width_px: view.width,
      display_height_px: view.height,
      ...(version === 'computer_20251124' && { enable_zoom: true }),
    },
    /** Does what the model asks for and shows it what came of it. Throws what the machine refuses. */
    async execute(action: AnthropicAction): Promise<AnthropicContent> {
      if (action.action === 'zoom') return image(await zoom(machine, view, action, options))
      if (action.action === 'cursor_position') {
        throw new Error(
          'cursor_position is not available: take a screenshot, which shows the pointer',
        )
      }
      await act(machine, view, action, options)
      return look()
    },
  }
}

async function act(
  machine: Machine,
  view: View,
  action: AnthropicAction,
  options: CallOptions,
): Promise<void> {
  const { mouse, keyboard } = machine
  const { coordinate, text } = action
  const point = coordinate && toDisplay(view, pair(coordinate))
  const click = (button: MouseButton, count = 1) =>
    holding(machine, text, options, () =>
      point
        ? mouse.click(point.x, point.y, { button, count, ...options })
        : mouse.click({ button, count, ...options }),
    )
  switch (action.action) {
    case 'screenshot':
      return
    case 'left_click':
      return click('left')
    case 'right_click':
      return click('right')
    case 'middle_click':
      return click('middle')
    case 'double_click':
      return click('left', 2)
    case 'triple_click':
      return click('left', 3)
    case 'mouse_move': {
      const { x, y } = needed(point, 'coordinate')
      return mouse.move(x, y, options)
    }
    case 'left_mouse_down':
      return mouse.down(options)
    case 'left_mouse_up':
      return mouse.up(options)
    case 'left_click_drag': {
      const { start_coordinate: start } = action
      const from = start && toDisplay(view, pair(start))
      return mouse.drag(needed(point, 'coordinate'), { from, ...options })
    }
    case 'scroll': {
      const direction = needed(action.scroll_direction, 'scroll_direction')
      const amount = Math.min(Math.max(Math.round(action.scroll_amount ?? 3), 0), 100)
      if (amount === 0) return
      return holding(machine, text, options, () =>
        mouse.scroll(direction, { amount, at: point, ...options }),
      )
    }
    case 'type':
      return keyboard.type(needed(text, 'text'), options)
    case 'key':
      return pressInTurn(machine, needed(text, 'text'), options)
    case 'hold_key':
      return holding(machine, needed(text, 'text'), options, () => wait(action, options))
    case 'wait':
      return wait(action, options)
    default:
      throw new Error(`${action.action} is no action of this tool`)
  }
}

/** Keys by xdotool's syntax: combinations by +, several in turn by spaces. */
async function pressInTurn(machine: Machine, text: string, options: CallOptions): Promise<void> {
  for (const keys of text.split(' ').filter(Boolean)) await machine.keyboard.press(keys, options)
}

/** Does something while keys are held down, and lets go of them whatever comes of it. */
async function holding(
  machine: Machine,
  keys: string | undefined,
  options: CallOptions,
  work: () => Promise<void>,
): Promise<void> {
  const names = keys ? keys.split('+').filter(Boolean) : []
  const held: string[] = []
  try {
    for (const name of names) {
      await machine.keyboard.down(name, options)
      held.unshift(name)
    }
    await work()
  } finally {
    for (const name of held) await machine.keyboard.up(name)
  }
}

async function wait({ duration = 1 }: AnthropicAction, { signal }: CallOptions): Promise<void> {
  await pause(Math.min(Math.max(duration, 0), longestWaitSeconds) * 1000, signal)
}

/** A part of the display at its full resolution. */
async function zoom(
  machine: Machine,
  view: View,
  { region }: AnthropicAction,
  options: CallOptions,
): Promise<string> {
  const [left, top, right, bottom] = needed(region, 'region') as [number, number, number, number]
  const from = toDisplay(view, { x: Math.min(left, right), y: Math.min(top, bottom) })
  const to = toDisplay(view, { x: Math.max(left, right), y: Math.max(top, bottom) })
  const { bytes } = await machine.screenshot({ format: 'png', ...options })
  const whole = await decodePng(bytes)
  return base64(await encodePng(cut(whole, from, { x: to.x + 1, y: to.y + 1 })))
}

function image(data: string): AnthropicContent {
  return [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }]
}

function pair(coordinate: readonly number[]): Point {
  const [x, y] = coordinate
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw new Error('coordinate must be [x, y]')
  return { x: x!, y: y! }
}

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`this action needs ${name}`)
  return value
}

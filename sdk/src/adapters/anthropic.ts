import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { pause } from '../retry.ts'
import type { MouseButton } from '../wire/records.ts'
import { crop, decodePng, encodePng } from './png.ts'
import {
  base64,
  screenshotOf,
  toDisplay,
  viewOf,
  type Point,
  type View,
  type ViewLimits,
} from './view.ts'

/** The `input` of the tool's `tool_use` blocks (computer_20250124 and computer_20251124). */
export type AnthropicAction = {
  readonly action: string
  readonly coordinate?: readonly number[] | undefined
  readonly start_coordinate?: readonly number[] | undefined
  readonly text?: string | undefined
  readonly scroll_direction?: 'up' | 'down' | 'left' | 'right' | undefined
  readonly scroll_amount?: number | undefined
  /** In seconds. */
  readonly duration?: number | undefined
  /** For `zoom`: left, top, right, bottom. */
  readonly region?: readonly number[] | undefined
}

/** The `content` of the `tool_result` block. */
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
  /** The largest image shown to the model. Default: 1568 pixels per edge, 1.15 million in total. */
  readonly limits?: ViewLimits | undefined
}

const defaultLimits: ViewLimits = { longestEdge: 1568, pixels: 1_150_000 }
const maxWaitSeconds = 300

/**
 * A machine as Anthropic's computer-use tool. Pass `tool` in the request, and run the `tool_use` blocks
 * of the response with `execute`.
 */
export async function anthropicComputerTool(
  machine: Machine,
  { version = 'computer_20251124', limits = defaultLimits, ...options }: AnthropicOptions = {},
) {
  let view = viewOf(await machine.display.get(options), limits)

  async function takeScreenshot(): Promise<AnthropicContent> {
    const screenshot = await screenshotOf(machine, limits, options)
    view = screenshot.view
    return image(screenshot.base64)
  }

  return {
    /** The tool definition. */
    tool: {
      type: version,
      name: 'computer' as const,
      display_width_px: view.width,
      display_height_px: view.height,
      ...(version === 'computer_20251124' && { enable_zoom: true }),
    },
    /** Performs an action of the model and returns a screenshot. Throws if the machine refuses it. */
    async execute(action: AnthropicAction): Promise<AnthropicContent> {
      if (action.action === 'zoom') return image(await zoom(machine, view, action, options))
      if (action.action === 'cursor_position') {
        throw new Error(
          'cursor_position is not supported; take a screenshot, which shows the pointer',
        )
      }
      await act(machine, view, action, options)
      return takeScreenshot()
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
    withKeysHeld(machine, text, options, () =>
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
      const { x, y } = required(point, 'coordinate')
      return mouse.move(x, y, options)
    }
    case 'left_mouse_down':
      return mouse.down(options)
    case 'left_mouse_up':
      return mouse.up(options)
    case 'left_click_drag': {
      const { start_coordinate: start } = action
      const from = start && toDisplay(view, pair(start))
      return mouse.drag(required(point, 'coordinate'), { from, ...options })
    }
    case 'scroll': {
      const direction = required(action.scroll_direction, 'scroll_direction')
      const amount = Math.min(Math.max(Math.round(action.scroll_amount ?? 3), 0), 100)
      if (amount === 0) return
      return withKeysHeld(machine, text, options, () =>
        mouse.scroll(direction, { amount, at: point, ...options }),
      )
    }
    case 'type':
      return keyboard.type(required(text, 'text'), options)
    case 'key':
      return pressSequence(machine, required(text, 'text'), options)
    case 'hold_key':
      return withKeysHeld(machine, required(text, 'text'), options, () => wait(action, options))
    case 'wait':
      return wait(action, options)
    default:
      throw new Error(`unknown action: ${action.action}`)
  }
}

/** Presses keys in xdotool syntax: `+` joins combinations, spaces separate successive ones. */
async function pressSequence(machine: Machine, text: string, options: CallOptions): Promise<void> {
  for (const keys of text.split(' ').filter(Boolean)) await machine.keyboard.press(keys, options)
}

/** Performs an action while keys are held down, and always releases them. */
async function withKeysHeld(
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
  await pause(Math.min(Math.max(duration, 0), maxWaitSeconds) * 1000, signal)
}

/** A region of the display at full resolution. */
async function zoom(
  machine: Machine,
  view: View,
  { region }: AnthropicAction,
  options: CallOptions,
): Promise<string> {
  const [left, top, right, bottom] = required(region, 'region') as [number, number, number, number]
  const from = toDisplay(view, { x: Math.min(left, right), y: Math.min(top, bottom) })
  const to = toDisplay(view, { x: Math.max(left, right), y: Math.max(top, bottom) })
  const { bytes } = await machine.screenshot({ format: 'png', ...options })
  const whole = await decodePng(bytes)
  return base64(await encodePng(crop(whole, from, { x: to.x + 1, y: to.y + 1 })))
}

function image(data: string): AnthropicContent {
  return [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }]
}

function pair(coordinate: readonly number[]): Point {
  const [x, y] = coordinate
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw new Error('coordinate must be [x, y]')
  return { x: x!, y: y! }
}

function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`this action requires ${name}`)
  return value
}

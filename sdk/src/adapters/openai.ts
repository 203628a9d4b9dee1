import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { pause } from '../retry.ts'
import type { MouseButton } from '../wire/records.ts'
import { screenshotOf, toDisplay, viewOf, type Point, type ViewLimits } from './view.ts'

/** The `action` of a `computer_call` item, or one of its `actions`. */
export type OpenAiAction = {
  readonly type: string
  readonly x?: number | undefined
  readonly y?: number | undefined
  readonly button?: 'left' | 'right' | 'wheel' | 'back' | 'forward' | undefined
  readonly scroll_x?: number | undefined
  readonly scroll_y?: number | undefined
  readonly keys?: readonly string[] | null | undefined
  readonly text?: string | undefined
  readonly path?: readonly Point[] | undefined
}

/** The `output` of the `computer_call_output` item. */
export type OpenAiOutput = {
  readonly type: 'computer_screenshot'
  readonly image_url: string
}

export type OpenAiOptions = CallOptions & {
  /** The largest image shown to the model. Default: 2048 pixels per edge, 1.5 million in total. */
  readonly limits?: ViewLimits | undefined
}

const defaultLimits: ViewLimits = { longestEdge: 2048, pixels: 1_500_000 }
const waitMs = 1000
/** The model scrolls in pixels; a wheel notch is about this many. */
const pixelsPerNotch = 100
/** The model's key names that are neither X names nor aliases. */
const keyNames: Readonly<Record<string, string>> = {
  arrowup: 'up',
  arrowdown: 'down',
  arrowleft: 'left',
  arrowright: 'right',
  meta: 'super',
  capslock: 'Caps_Lock',
  '/': 'slash',
  '\\': 'backslash',
  '-': 'minus',
}

/**
 * A machine as OpenAI's computer-use tool. Pass `tool` in the request, and run the `computer_call` items
 * of the response with `execute`.
 */
export async function openAiComputerTool(
  machine: Machine,
  { limits = defaultLimits, ...options }: OpenAiOptions = {},
) {
  let view = viewOf(await machine.display.get(options), limits)

  return {
    /** The tool definition for models with `computer_use_preview`. */
    tool: {
      type: 'computer_use_preview' as const,
      environment: 'linux' as const,
      display_width: view.width,
      display_height: view.height,
    },
    /** Performs one action, or several in order, and returns a screenshot. */
    async execute(actions: OpenAiAction | readonly OpenAiAction[]): Promise<OpenAiOutput> {
      for (const action of [actions].flat() as OpenAiAction[]) {
        await act(machine, (point) => toDisplay(view, point), action, options)
      }
      const screenshot = await screenshotOf(machine, limits, options)
      view = screenshot.view
      const url = `data:image/png;base64,${screenshot.base64}`
      return { type: 'computer_screenshot', image_url: url }
    },
  }
}

async function act(
  machine: Machine,
  toScreen: (point: Point) => Point,
  action: OpenAiAction,
  options: CallOptions,
): Promise<void> {
  const { mouse, keyboard } = machine
  const { x, y } =
    action.type === 'drag' ? { x: 0, y: 0 } : toScreen({ x: action.x ?? 0, y: action.y ?? 0 })
  switch (action.type) {
    case 'screenshot':
      return
    case 'click':
      return clickWith(machine, action.button ?? 'left', { x, y }, options)
    case 'double_click':
      return mouse.doubleClick(x, y, options)
    case 'move':
      return mouse.move(x, y, options)
    case 'scroll': {
      const [right, down] = [notches(action.scroll_x), notches(action.scroll_y)]
      const at = { x, y }
      const turn = (amount: number) => ({ at, amount: Math.abs(amount), ...options })
      if (down !== 0) await mouse.scroll(down > 0 ? 'down' : 'up', turn(down))
      if (right !== 0) await mouse.scroll(right > 0 ? 'right' : 'left', turn(right))
      return
    }
    case 'type':
      return keyboard.type(action.text ?? '', options)
    case 'keypress':
      return keyboard.hotkey((action.keys ?? []).map(keyName), options)
    case 'drag':
      return dragAlong(machine, (action.path ?? []).map(toScreen), options)
    case 'wait':
      return pause(waitMs, options.signal)
    default:
      throw new Error(`unknown action: ${action.type}`)
  }
}

async function clickWith(
  machine: Machine,
  button: NonNullable<OpenAiAction['button']>,
  { x, y }: Point,
  options: CallOptions,
): Promise<void> {
  const { mouse, keyboard } = machine
  // Browsers treat these keys like the side buttons of a mouse.
  if (button === 'back') return keyboard.hotkey(['alt', 'left'], options)
  if (button === 'forward') return keyboard.hotkey(['alt', 'right'], options)
  const named: MouseButton = button === 'wheel' ? 'middle' : button
  return mouse.click(x, y, { button: named, ...options })
}

/** Drags through every point of the path, and always releases the button. */
async function dragAlong(
  { mouse }: Machine,
  path: readonly Point[],
  options: CallOptions,
): Promise<void> {
  const [first, ...rest] = path
  if (!first) throw new Error('drag requires a path')
  await mouse.move(first.x, first.y, options)
  await mouse.down(options)
  try {
    for (const { x, y } of rest) await mouse.move(x, y, options)
  } finally {
    await mouse.up()
  }
}

function notches(pixels: number | undefined): number {
  const amount = (pixels ?? 0) / pixelsPerNotch
  // Round any nonzero amount up to one notch.
  return (
    Math.sign(amount) * Math.min(100, Math.max(amount === 0 ? 0 : 1, Math.round(Math.abs(amount))))
  )
}

function keyName(key: string): string {
  return keyNames[key.toLowerCase()] ?? key
}

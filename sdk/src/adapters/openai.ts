import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { pause } from '../retry.ts'
import type { MouseButton } from '../wire/records.ts'
import { screenshotOf, toDisplay, viewOf, type Point, type ViewLimits } from './view.ts'

/** What `computer_call` items carry as `action`, or several of as `actions`. */
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

/** What goes into `output` of the `computer_call_output` item. */
export type OpenAiOutput = {
  readonly type: 'computer_screenshot'
  readonly image_url: string
}

export type OpenAiOptions = CallOptions & {
  /** The largest picture the model is shown. Default: 2048 pixels an edge, 1.5 million in all. */
  readonly limits?: ViewLimits | undefined
}

const defaultLimits: ViewLimits = { longestEdge: 2048, pixels: 1_500_000 }
const waitMs = 1000
/** The model scrolls by pixels, a wheel by notches of about so many. */
const pixelsPerNotch = 100
/** Its names of keys that X and the aliases do not know. */
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
 * A machine as OpenAI's computer-use tool. `tool` goes into the request, `execute` answers the
 * `computer_call` items of its answers.
 */
export async function openAiComputerTool(
  machine: Machine,
  { limits = defaultLimits, ...options }: OpenAiOptions = {},
) {
  let view = viewOf(await machine.display.get(options), limits)

  return {
    /** The definition for models that take `computer_use_preview`. */
    tool: {
      type: 'computer_use_preview' as const,
      environment: 'linux' as const,
      display_width: view.width,
      display_height: view.height,
    },
    /** Does one action, or several in turn, and shows what came of it. */
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
  place: (point: Point) => Point,
  action: OpenAiAction,
  options: CallOptions,
): Promise<void> {
  const { mouse, keyboard } = machine
  const { x, y } =
    action.type === 'drag' ? { x: 0, y: 0 } : place({ x: action.x ?? 0, y: action.y ?? 0 })
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
      return dragAlong(machine, (action.path ?? []).map(place), options)
    case 'wait':
      return pause(waitMs, options.signal)
    default:
      throw new Error(`${action.type} is no action of this tool`)
  }
}

async function clickWith(
  machine: Machine,
  button: NonNullable<OpenAiAction['button']>,
  { x, y }: Point,
  options: CallOptions,
): Promise<void> {
  const { mouse, keyboard } = machine
  // The side buttons of a mouse go back and forward, and so do these keys.
  if (button === 'back') return keyboard.hotkey(['alt', 'left'], options)
  if (button === 'forward') return keyboard.hotkey(['alt', 'right'], options)
  const named: MouseButton = button === 'wheel' ? 'middle' : button
  return mouse.click(x, y, { button: named, ...options })
}

/** Through every point of the path; the button is let go of whatever comes of it. */
async function dragAlong(
  { mouse }: Machine,
  path: readonly Point[],
  options: CallOptions,
): Promise<void> {
  const [first, ...rest] = path
  if (!first) throw new Error('drag needs a path')
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
  // A little is a notch, not nothing.
  return (
    Math.sign(amount) * Math.min(100, Math.max(amount === 0 ? 0 : 1, Math.round(Math.abs(amount))))
  )
}

function keyName(key: string): string {
  return keyNames[key.toLowerCase()] ?? key
}

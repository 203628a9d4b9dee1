import type { Machine } from '../machine.ts'
import type { CallOptions, InputOptions } from '../options.ts'
import { pause } from '../retry.ts'
import {
  Action,
  mistakeIn,
  ModelMistake,
  required,
  staleIn,
  withKeysHeld,
  type Point,
} from './model.ts'
import { Camera, toDisplay, type ViewLimits, type ViewOptions } from './view.ts'

/** A `computer_call` item. Its actions are what the model chose to send. */
export type OpenAiCall = {
  readonly call_id: string
  /** Of the tool `computer_use_preview`: one action. */
  readonly action?: unknown
  /** Of the tool `computer`: several, in order. */
  readonly actions?: readonly unknown[] | undefined
  readonly pending_safety_checks?: readonly OpenAiSafetyCheck[] | null | undefined
}

export type OpenAiSafetyCheck = {
  id: string
  code?: string | null
  message?: string | null
}

/** The item that answers a `computer_call` item. */
export type OpenAiCallOutput = {
  type: 'computer_call_output'
  call_id: string
  output: { type: 'computer_screenshot'; image_url: string }
  acknowledged_safety_checks?: OpenAiSafetyCheck[]
}

/** What is wrong with the actions; a `computer_call_output` item has no place for it. */
export type OpenAiMessage = { type: 'message'; role: 'user'; content: string }

export type OpenAiOptions = CallOptions &
  ViewOptions & {
    /** Default: computer. */
    readonly version?: 'computer' | 'computer_use_preview' | undefined
    /** The largest image shown to the model. Default: 2048 pixels per edge, 1.5 million in total. */
    readonly limits?: ViewLimits | undefined
    /**
     * Decides, usually by asking a person, whether actions are performed for which the vendor reports
     * pending safety checks. Without it, `execute` throws for them.
     */
    readonly acknowledge?:
      | ((checks: readonly OpenAiSafetyCheck[]) => boolean | Promise<boolean>)
      | undefined
  }

const defaultLimits: ViewLimits = { longestEdge: 2048, pixels: 1_500_000 }
const waitMs = 1000
/** The model scrolls in pixels; a wheel notch is about this many. */
const pixelsPerNotch = 100
const maxNotches = 100
const maxActions = 100
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
 * A machine as OpenAI's computer-use tool. Pass `tool` in each request, and answer the `computer_call`
 * items of the response with the items that `execute` returns.
 */
export async function openAiComputerTool(
  machine: Machine,
  {
    version = 'computer',
    signal,
    limits = defaultLimits,
    acknowledge,
    ...rest
  }: OpenAiOptions = {},
) {
  const options = { signal }
  const camera = new Camera(machine, await machine.display.get(options), { limits, ...rest })

  return {
    /** The tool definition, with the size of the latest screenshot if the tool has one. */
    get tool() {
      const { width, height } = camera.view
      return version === 'computer'
        ? { type: version }
        : {
            type: version,
            environment: 'linux' as const,
            display_width: width,
            display_height: height,
          }
    },
    /**
     * Performs the actions of a call in order, and takes a screenshot once the screen has settled. At a
     * mistake of the model it stops, and a message after the output tells the model so; throws if the
     * machine cannot be driven, such as when another session has taken control, and if pending safety
     * checks are not acknowledged.
     */
    async execute(call: OpenAiCall): Promise<(OpenAiCallOutput | OpenAiMessage)[]> {
      const checks = call.pending_safety_checks ?? []
      if (checks.length > 0 && !(await acknowledge?.(checks))) {
        const messages = checks.map(({ message, code, id }) => message ?? code ?? id)
        throw new Error(`safety checks are not acknowledged: ${messages.join('; ')}`)
      }
      const mistake = await performAll(machine, camera, call, options)
      const url = `data:image/png;base64,${await camera.takeAll(options)}`
      const output: OpenAiCallOutput = {
        type: 'computer_call_output',
        call_id: call.call_id,
        output: { type: 'computer_screenshot', image_url: url },
        ...(checks.length > 0 && { acknowledged_safety_checks: [...checks] }),
      }
      return mistake ? [output, { type: 'message', role: 'user', content: mistake }] : [output]
    },
  }
}

/** Resolves to what is wrong with an action of the model, if something is. */
async function performAll(
  machine: Machine,
  camera: Camera,
  { action, actions }: OpenAiCall,
  options: CallOptions,
): Promise<string | undefined> {
  const all = actions ?? (action === undefined ? [] : [action])
  if (all.length > maxActions) return `a call may have at most ${maxActions} actions; none was done`
  for (const [index, given] of all.entries()) {
    try {
      await act(machine, camera, new Action(given), options)
    } catch (error) {
      const mistake = staleIn(error) ?? mistakeIn(error)
      if (mistake === undefined) throw error
      const which = all.length === 1 ? 'The action' : `Action ${index + 1} of ${all.length}`
      const rest = index + 1 < all.length ? ', nor were those after it' : ''
      return `${which} was not done${rest}: ${mistake}`
    }
  }
  return undefined
}

async function act(
  machine: Machine,
  camera: Camera,
  action: Action,
  options: CallOptions,
): Promise<void> {
  const { mouse, keyboard } = machine
  const { view } = camera
  const point = () =>
    toDisplay(view, { x: required(action.number('x'), 'x'), y: required(action.number('y'), 'y') })
  const whileHeld = (work: () => Promise<void>) =>
    withKeysHeld(machine, (action.texts('keys') ?? []).map(keyName), options, work)
  const type = required(action.text('type'), 'type')
  switch (type) {
    case 'screenshot':
      return
    case 'click': {
      const [at, button] = [point(), action.text('button') ?? 'left']
      return whileHeld(() => clickWith(machine, button, at, camera.guard(options, at)))
    }
    case 'double_click': {
      const at = point()
      return whileHeld(() => mouse.doubleClick(at.x, at.y, camera.guard(options, at)))
    }
    case 'move': {
      const at = point()
      return whileHeld(() => mouse.move(at.x, at.y, camera.guard(options, at)))
    }
    case 'scroll': {
      const at = point()
      const [right, down] = [notches(action.number('scroll_x')), notches(action.number('scroll_y'))]
      const turn = (amount: number) => ({
        at,
        amount: Math.abs(amount),
        ...camera.guard(options, at),
      })
      return whileHeld(async () => {
        if (down !== 0) await mouse.scroll(down > 0 ? 'down' : 'up', turn(down))
        if (right !== 0) await mouse.scroll(right > 0 ? 'right' : 'left', turn(right))
      })
    }
    case 'type':
      return keyboard.type(required(action.text('text'), 'text'), camera.guard(options))
    case 'keypress':
      return keyboard.hotkey(
        required(action.texts('keys'), 'keys').map(keyName),
        camera.guard(options),
      )
    case 'drag': {
      const path = required(action.points('path'), 'path').map((one) => toDisplay(view, one))
      return whileHeld(() => dragAlong(machine, path, camera.guard(options, path[0]), options))
    }
    case 'wait':
      return pause(waitMs, options.signal)
    default:
      throw new ModelMistake(`there is no action ${JSON.stringify(type.slice(0, 100))}`)
  }
}

async function clickWith(
  { mouse, keyboard }: Machine,
  button: string,
  { x, y }: Point,
  options: InputOptions,
): Promise<void> {
  switch (button) {
    case 'left':
    case 'right':
      return mouse.click(x, y, { button, ...options })
    case 'wheel':
      return mouse.click(x, y, { button: 'middle', ...options })
    // Browsers treat these keys like the side buttons of a mouse.
    case 'back':
      return keyboard.hotkey(['alt', 'left'], options)
    case 'forward':
      return keyboard.hotkey(['alt', 'right'], options)
    default:
      throw new ModelMistake('button must be one of left, right, wheel, back, forward')
  }
}

/** Drags through every point of the path, and always releases the button. */
async function dragAlong(
  { mouse }: Machine,
  [first, ...rest]: readonly Point[],
  guarded: InputOptions,
  options: CallOptions,
): Promise<void> {
  if (!first) throw new ModelMistake('path must have a point')
  await mouse.move(first.x, first.y, guarded)
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
  const least = amount === 0 ? 0 : 1
  return Math.sign(amount) * Math.min(maxNotches, Math.max(least, Math.round(Math.abs(amount))))
}

/** The model writes letters as they stand on keys: A is the key without shift. */
function keyName(key: string): string {
  const lower = key.toLowerCase()
  return keyNames[lower] ?? (key.length === 1 ? lower : key)
}

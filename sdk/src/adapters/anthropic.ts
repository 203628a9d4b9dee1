import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { pause } from '../retry.ts'
import type { MouseButton } from '../wire/records.ts'
import { Action, mistakeIn, ModelMistake, required, staleIn, withKeysHeld } from './model.ts'
import { Camera, toDisplay, type ViewLimits, type ViewOptions } from './view.ts'

/** A `tool_use` block of the tool. Its `input` is what the model chose to send. */
export type AnthropicToolUse = { readonly id: string; readonly input: unknown }

/** The block that answers a `tool_use` block. */
export type AnthropicToolResult = {
  type: 'tool_result'
  tool_use_id: string
  content: (AnthropicText | AnthropicImage)[]
  /** Set if the model made a mistake, which the text describes. */
  is_error?: true
}

type AnthropicText = { type: 'text'; text: string }
type AnthropicImage = {
  type: 'image'
  source: { type: 'base64'; media_type: 'image/png'; data: string }
}

export type AnthropicOptions = CallOptions &
  ViewOptions & {
    /** Default: computer_20251124. */
    readonly version?: 'computer_20251124' | 'computer_20250124' | undefined
    /** The largest image shown to the model. Default: 1568 pixels per edge, 1.15 million in total. */
    readonly limits?: ViewLimits | undefined
  }

const defaultLimits: ViewLimits = { longestEdge: 1568, pixels: 1_150_000 }
const maxWaitSeconds = 300
const maxScroll = 100

/**
 * A machine as Anthropic's computer-use tool. Pass `tool` in each request, and answer the `tool_use`
 * blocks of the response with the results of `execute`.
 */
export async function anthropicComputerTool(
  machine: Machine,
  { version = 'computer_20251124', signal, limits = defaultLimits, ...rest }: AnthropicOptions = {},
) {
  const options = { signal }
  const camera = new Camera(machine, await machine.display.get(options), { limits, ...rest })

  async function perform(action: Action): Promise<string> {
    if (action.text('action') === 'zoom') {
      const [left, top, right, bottom] = required(action.numbers('region', 4), 'region')
      return camera.takePart({ x: left!, y: top! }, { x: right!, y: bottom! }, options)
    }
    await act(machine, camera, action, options)
    return camera.takeAll(options)
  }

  return {
    /** The tool definition, with the size of the latest screenshot. */
    get tool() {
      return {
        type: version,
        name: 'computer' as const,
        display_width_px: camera.view.width,
        display_height_px: camera.view.height,
        ...(version === 'computer_20251124' && { enable_zoom: true }),
      }
    },
    /**
     * Performs an action of the model and takes a screenshot once the screen has settled. A mistake of
     * the model becomes a result that tells it so; throws if the machine cannot be driven, such as when
     * another session has taken control.
     */
    async execute({ id, input }: AnthropicToolUse): Promise<AnthropicToolResult> {
      try {
        const content = [toImage(await perform(new Action(input)))]
        return { type: 'tool_result', tool_use_id: id, content }
      } catch (error) {
        const stale = staleIn(error)
        if (stale !== undefined) {
          // An error may have no picture.
          const picture = toImage(await camera.takeAll(options))
          return { type: 'tool_result', tool_use_id: id, content: [toText(stale), picture] }
        }
        const text = mistakeIn(error)
        if (text === undefined) throw error
        return { type: 'tool_result', tool_use_id: id, content: [toText(text)], is_error: true }
      }
    },
  }
}

async function act(
  machine: Machine,
  camera: Camera,
  action: Action,
  options: CallOptions,
): Promise<void> {
  const { view } = camera
  const { mouse, keyboard } = machine
  const pointOf = (name: string) => {
    const [x, y] = action.numbers(name, 2) ?? []
    return x === undefined ? undefined : toDisplay(view, { x, y: y! })
  }
  const point = pointOf('coordinate')
  const text = action.text('text')
  const click = (button: MouseButton, count = 1) =>
    withKeysHeld(machine, keysIn(text), options, () =>
      point
        ? mouse.click(point.x, point.y, { button, count, ...camera.guard(options, point) })
        : mouse.click({ button, count, ...camera.guard(options) }),
    )
  const name = required(action.text('action'), 'action')
  switch (name) {
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
      return mouse.move(x, y, camera.guard(options, point))
    }
    case 'left_mouse_down':
      return mouse.down(camera.guard(options))
    case 'left_mouse_up':
      return mouse.up(options)
    case 'left_click_drag': {
      const to = required(point, 'coordinate')
      return mouse.drag(to, { from: pointOf('start_coordinate'), ...camera.guard(options, to) })
    }
    case 'scroll': {
      const direction = directionOf(action)
      const amount = within(Math.round(action.number('scroll_amount') ?? 3), 0, maxScroll)
      if (amount === 0) return
      return withKeysHeld(machine, keysIn(text), options, () =>
        mouse.scroll(direction, { amount, at: point, ...camera.guard(options, point) }),
      )
    }
    case 'type':
      return keyboard.type(required(text, 'text'), camera.guard(options))
    case 'key':
      // In xdotool's syntax: `+` joins keys pressed together, spaces separate those pressed in turn.
      for (const keys of required(text, 'text').split(' ').filter(Boolean)) {
        await keyboard.press(keys, camera.guard(options))
      }
      return
    case 'hold_key':
      return withKeysHeld(machine, keysIn(required(text, 'text')), options, () =>
        wait(action, options),
      )
    case 'wait':
      return wait(action, options)
    case 'cursor_position':
      throw new ModelMistake(
        'cursor_position is not supported; take a screenshot, which shows the pointer',
      )
    default:
      throw new ModelMistake(`there is no action ${JSON.stringify(name.slice(0, 100))}`)
  }
}

const directions = ['up', 'down', 'left', 'right'] as const

function directionOf(action: Action) {
  const given = required(action.text('scroll_direction'), 'scroll_direction')
  const direction = directions.find((one) => one === given)
  if (!direction) {
    throw new ModelMistake(`scroll_direction must be one of ${directions.join(', ')}`)
  }
  return direction
}

function keysIn(text = ''): string[] {
  return text.split('+').filter(Boolean)
}

async function wait(action: Action, { signal }: CallOptions): Promise<void> {
  const seconds = within(action.number('duration') ?? 1, 0, maxWaitSeconds)
  await pause(seconds * 1000, signal)
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function toText(text: string): AnthropicText {
  return { type: 'text', text }
}

function toImage(data: string): AnthropicImage {
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
}

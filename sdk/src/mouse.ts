import type { Input } from './input.ts'
import type { InputOptions } from './options.ts'
import type { Body } from './transport.ts'
import type { MouseButton, Point } from './wire/records.ts'

const at = '/v1/machines/{machine_id}/mouse'
export type ClickOptions = InputOptions & {
  readonly button?: MouseButton | undefined
  /** 2 is a double-click. */
  readonly count?: number | undefined
}
type Drag = Body<`POST ${typeof at}/drag`>
type Scroll = Body<`POST ${typeof at}/scroll`>

/** The pointer. Coordinates are pixels of the current display, from its top-left corner. */
export class Mouse {
  readonly #input: Input

  constructor(input: Input) {
    this.#input = input
  }

  async move(x: number, y: number, options: InputOptions = {}): Promise<void> {
    await this.#input.send(`POST ${at}/move`, { x, y }, options)
  }

  /** Clicks at a point, or at the current pointer position. */
  async click(x: number, y: number, options?: ClickOptions): Promise<void>
  async click(options?: ClickOptions): Promise<void>
  async click(...args: ClickArguments): Promise<void> {
    const { point, options } = split(args)
    const { button, count, ...rest } = options
    await this.#input.send(`POST ${at}/click`, { at: point, button, count }, rest)
  }

  async doubleClick(x: number, y: number, options: ClickOptions = {}): Promise<void> {
    await this.click(x, y, { ...options, count: 2 })
  }

  async rightClick(x: number, y: number, options: ClickOptions = {}): Promise<void> {
    await this.click(x, y, { ...options, button: 'right' })
  }

  /** Presses a button and holds it, until `up`. */
  async down({ button, ...options }: Omit<ClickOptions, 'count'> = {}): Promise<void> {
    await this.#input.send(`POST ${at}/click`, { button, down: true }, options)
  }

  async up({ button, ...options }: Omit<ClickOptions, 'count'> = {}): Promise<void> {
    await this.#input.send(`POST ${at}/click`, { button, up: true }, options)
  }

  /** Drags to a point with a button held, from the current pointer position or from `from`. */
  async drag(
    to: Point,
    { from, button, steps, ...options }: Omit<Drag, 'to'> & InputOptions = {},
  ): Promise<void> {
    await this.#input.send(`POST ${at}/drag`, { to, from, button, steps }, options)
  }

  /** Turns the wheel by `amount` notches, at a point or at the current pointer position. */
  async scroll(
    direction: Scroll['direction'],
    { amount, at: point, ...options }: Omit<Scroll, 'direction'> & InputOptions = {},
  ): Promise<void> {
    await this.#input.send(`POST ${at}/scroll`, { direction, amount, at: point }, options)
  }
}

type ClickArguments = [number, number, (ClickOptions | undefined)?] | [(ClickOptions | undefined)?]

function split(args: ClickArguments) {
  if (typeof args[0] !== 'number') return { point: undefined, options: args[0] ?? {} }
  const [x, y, options = {}] = args as [number, number, ClickOptions | undefined]
  return { point: { x, y }, options }
}

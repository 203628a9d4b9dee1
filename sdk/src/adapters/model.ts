import { ApiError } from '../errors.ts'
import type { Machine } from '../machine.ts'
import type { CallOptions } from '../options.ts'
import { isStaleScreen } from '../screen-guard.ts'

/* What a model asks for: nothing about it is certain, and its mistakes are told to the model. */

/** A mistake of the model. The action has not been done, and the message says what is wrong. */
export class ModelMistake extends Error {
  override name = 'ModelMistake'
}

/** What to tell the model if the screen has changed since its last picture; undefined for other errors. */
export function staleIn(error: unknown): string | undefined {
  if (!isStaleScreen(error)) return undefined
  return `Nothing was done, because ${error.message.split('; ')[0]}. Here is the screen as it is now.`
}

/** The message of an error for which the model is to blame; undefined for other errors. */
export function mistakeIn(error: unknown): string | undefined {
  if (error instanceof ModelMistake) return error.message
  if (!(error instanceof ApiError) || error.code !== 'invalid_request') return undefined
  const fields = error.details.map(({ field, message }) => `${field}: ${message}`)
  return [error.message, ...fields].join('; ')
}

export type Point = { readonly x: number; readonly y: number }

/** The named values of an action. Each is read as one type; undefined and null mean that it is absent. */
export class Action {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(given: unknown) {
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
    if (!isObject) throw new ModelMistake('the action must be an object')
    this.#values = given as Record<string, unknown>
  }

  text(name: string): string | undefined {
    return this.#read(name, 'a string', (value) => typeof value === 'string')
  }

  number(name: string): number | undefined {
    return this.#read(name, 'a number', isNumber)
  }

  numbers(name: string, count: number): number[] | undefined {
    const isList = (value: unknown): value is number[] =>
      Array.isArray(value) && value.length === count && value.every(isNumber)
    return this.#read(name, `a list of ${count} numbers`, isList)
  }

  texts(name: string): string[] | undefined {
    const isList = (value: unknown): value is string[] =>
      Array.isArray(value) && value.every((one) => typeof one === 'string')
    return this.#read(name, 'a list of strings', isList)
  }

  points(name: string): Point[] | undefined {
    const isPoint = (value: unknown) =>
      typeof value === 'object' &&
      value !== null &&
      isNumber((value as Partial<Point>).x) &&
      isNumber((value as Partial<Point>).y)
    const isList = (value: unknown): value is Point[] =>
      Array.isArray(value) && value.every(isPoint)
    return this.#read(name, 'a list of points with x and y', isList)
  }

  #read<T>(name: string, what: string, is: (value: unknown) => value is T): T | undefined {
    const value = this.#values[name] ?? undefined
    if (value !== undefined && !is(value)) throw new ModelMistake(`${name} must be ${what}`)
    return value
  }
}

export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new ModelMistake(`this action requires ${name}`)
  return value
}

/** Works while keys are held down, and always releases them. */
export async function withKeysHeld(
  { keyboard }: Machine,
  keys: readonly string[],
  options: CallOptions,
  work: () => Promise<void>,
): Promise<void> {
  const held: string[] = []
  try {
    for (const key of keys) {
      await keyboard.down(key, options)
      held.unshift(key)
    }
    await work()
  } finally {
    for (const key of held) await keyboard.up(key)
  }
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value)
}

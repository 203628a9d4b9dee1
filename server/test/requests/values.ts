import type { JsonSchema } from '@computer/contract'
import type { Random } from '../../../e2e/harness/random.ts'

/*
 * Values made from JSON schemas: valid ones, and with a given probability hostile ones, at every depth.
 */

export type ValueSource = {
  readonly random: Random
  /** The probability that a value, at any depth, is hostile instead of valid. */
  readonly hostility: number
  readonly resolve: (schema: JsonSchema) => JsonSchema
  /** Valid values of a field that its schema alone cannot give, such as ids; undefined for others. */
  readonly known: (name: string, schema: JsonSchema) => readonly unknown[] | undefined
}

/** A JSON number that no JavaScript value is written as. */
const rawMark = '@raw:'

export function makeValue(source: ValueSource, name: string, schema: JsonSchema): unknown {
  const { random, hostility } = source
  if (random.fraction() < hostility) return makeHostile(source, name, schema)
  const known = source.known(name, schema)
  return known ? random.pick(known) : makeValid(source, name, schema)
}

/** The text of a JSON body. */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(/"@raw:([^"]*)"/g, '$1')
}

function makeValid(source: ValueSource, name: string, given: JsonSchema): unknown {
  const { random } = source
  const schema = source.resolve(given) as Keywords
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return random.pick(schema.enum)
  if (schema.anyOf) return makeValue(source, name, random.pick(schema.anyOf))
  switch (schema.type) {
    case 'object':
      return makeObject(source, schema)
    case 'array': {
      const { minItems = 0, maxItems = 4 } = schema
      const length = Math.min(maxItems, minItems + random.below(3))
      return Array.from({ length }, () => makeValue(source, name, schema.items ?? {}))
    }
    case 'integer':
    case 'number':
      return makeNumber(random, schema)
    case 'boolean':
      return random.fraction() < 0.5
    case 'null':
      return null
    case 'string':
      return makeText(random, schema)
    default:
      return random.pick<unknown>([null, 1, 'text', [], {}])
  }
}

function makeObject(source: ValueSource, schema: Keywords): object {
  const { random, hostility } = source
  const { properties = {}, required = [], propertyNames, additionalProperties } = schema
  const entries: [string, unknown][] = []
  for (const [name, inner] of Object.entries(properties)) {
    const isNeeded = required.includes(name) && random.fraction() >= hostility / 4
    if (isNeeded || random.fraction() < 0.4) entries.push([name, makeValue(source, name, inner)])
  }
  if (typeof additionalProperties === 'object') {
    for (let left = random.below(3); left > 0; left -= 1) {
      const key = makeValue(source, 'key', propertyNames ?? { type: 'string' })
      entries.push([String(key), makeValue(source, 'value', additionalProperties)])
    }
  }
  if (random.fraction() < hostility / 2) {
    entries.push([random.pick(strangeNames), makeHostile(source, 'extra', {})])
  }
  // Unlike an assignment, this makes __proto__ a field of its own.
  return Object.fromEntries(entries)
}

const strangeNames = ['unknown_field', '__proto__', 'constructor', 'toString', '', '\0', 'id', 'é']

function makeNumber(random: Random, schema: Keywords): number {
  const { minimum = -1000, maximum = 100_000 } = schema
  const middle = minimum + Math.floor(random.fraction() * (maximum - minimum))
  return random.pick([minimum, maximum, middle, Math.min(maximum, minimum + 1), middle])
}

function makeText(random: Random, { minLength = 0, maxLength = 4096, pattern, format }: Keywords) {
  if (format === 'email') return `guest-${random.below(1e9)}@example.com`
  if (format === 'date-time') return new Date(Date.now() + random.below(1e9)).toISOString()
  const longest = 'x'.repeat(Math.min(maxLength, longTextLength))
  const all = [
    'a',
    'name-1',
    'TOKEN',
    '0644',
    'text',
    'é ☃ 🖥',
    '<b>',
    "'; --",
    '%2e%2e',
    'x y',
    longest,
  ]
  const fitting = all.filter(
    (one) =>
      one.length >= minLength &&
      one.length <= maxLength &&
      (pattern === undefined || new RegExp(pattern).test(one)),
  )
  return fitting.length > 0 ? random.pick(fitting) : 'x'.repeat(minLength)
}

/** Above every limit on texts that are not whole files or bodies. */
const longTextLength = 5_000

function makeHostile(source: ValueSource, name: string, given: JsonSchema): unknown {
  const { random } = source
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = source.resolve(
    given,
  ) as Keywords
  const atBounds = [
    ...[minimum, maximum].flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound + 1])),
    ...[minLength, maxLength]
      .filter((bound) => bound !== undefined && bound <= longTextLength)
      .flatMap((bound) => ['x'.repeat(Math.max(0, bound! - 1)), 'é'.repeat(bound! + 1)]),
    ...[minItems, maxItems]
      .filter((bound) => bound !== undefined && bound <= 100)
      .map((bound) => Array.from({ length: bound! + 1 }, () => 'x')),
  ]
  if (atBounds.length > 0 && random.fraction() < 0.4) return random.pick(atBounds)
  // A command that starts is one that a valid request may start, too.
  if (name === 'command')
    return random.pick<unknown>([null, [], '', [''], ['\0'], [1], {}, [['true']]])
  return random.pick(hostileValues)()
}

const hostileValues: readonly (() => unknown)[] = [
  ...[null, true, 0, -1, 0.5, 1e21, 2 ** 53, -(2 ** 63), '', ' ', 'null', '0', '-1', 'NaN'].map(
    (value) => () => value,
  ),
  ...['\0', 'a\0b', '\ud800', 'x\udfff', '\u202e', '\r\nx: y', '../..', '%00', '\uffff'].map(
    (value) => () => value,
  ),
  ...['1e999', '-1e999', '-0', '1e-400', `1${'0'.repeat(400)}`].map(
    (text) => () => `${rawMark}${text}`,
  ),
  () => [],
  () => ({}),
  () => [null],
  () => ({ a: { b: null } }),
  () => ({ ['__proto__']: { isAdmin: true } }),
  () => 'x'.repeat(longTextLength),
  () => nest(200),
  () => Array.from({ length: 300 }, (_, index) => index),
]

function nest(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value }
  return value
}

type Keywords = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly propertyNames?: JsonSchema
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
}

import type { Form } from './form.ts'

/*
 * What an endpoint accepts. The fake is as strict as Stripe: it refuses parameters that it does not know, values
 * of another kind, and calls without a required one. The names are checked against the types of Stripe's
 * package, so a parameter that Stripe renames does not compile here.
 */

export type Kind =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'metadata'
  | { readonly oneOf: readonly string[] }
  | { readonly list: Kind }
  | { readonly object: Readonly<Record<string, Kind>>; readonly required?: readonly string[] }

export type Parameters = {
  readonly kinds: Readonly<Record<string, Kind>>
  readonly required: readonly string[]
}

export function parameters<P>(
  kinds: { readonly [Name in keyof P]?: Kind },
  required: readonly (keyof P & string)[] = [],
): Parameters {
  return { kinds: kinds as Readonly<Record<string, Kind>>, required }
}

/** For lists of objects. */
export const page = {
  limit: 'integer',
  starting_after: 'string',
  ending_before: 'string',
} as const satisfies Record<string, Kind>

export class StripeRefusal extends Error {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    body: { readonly message: string } & Readonly<Record<string, unknown>>,
  ) {
    super(body.message)
    this.status = status
    this.body = { type: 'invalid_request_error', ...body }
  }
}

export function missing(what: string, id: string): StripeRefusal {
  return new StripeRefusal(404, { code: 'resource_missing', message: `No such ${what}: '${id}'` })
}

export function refused(message: string, rest: Readonly<Record<string, unknown>> = {}) {
  return new StripeRefusal(400, { message, ...rest })
}

// Handlers read their parameters without types; the kinds have been checked.
// oxlint-disable-next-line typescript/no-explicit-any
export type Values = Record<string, any>

export function readParameters({ kinds, required }: Parameters, form: Form): Values {
  return readObject({ object: kinds, required }, form, '')
}

function readObject(
  { object, required = [] }: Extract<Kind, { object: unknown }>,
  form: Form,
  path: string,
): Values {
  const nameOf = (key: string) => (path === '' ? key : `${path}[${key}]`)
  for (const key of required) {
    if (form[key] !== undefined) continue
    throw refused(`Missing required param: ${nameOf(key)}.`, {
      code: 'parameter_missing',
      param: nameOf(key),
    })
  }
  return Object.fromEntries(
    Object.entries(form).map(([key, value]) => {
      const kind = Object.hasOwn(object, key) ? object[key]! : undefined
      if (kind === undefined) {
        throw refused(`Received unknown parameter: ${nameOf(key)}`, {
          code: 'parameter_unknown',
          param: nameOf(key),
        })
      }
      return [key, readValue(kind, value, nameOf(key))]
    }),
  )
}

function readValue(kind: Kind, value: string | Form, path: string): unknown {
  const invalid = (what: string) => refused(`Invalid ${what}: ${path}`, { param: path })
  if (typeof kind === 'object' && 'list' in kind) {
    if (typeof value === 'string') throw invalid('array')
    return Object.entries(value).map(([key, one]) => readValue(kind.list, one, `${path}[${key}]`))
  }
  if (typeof kind === 'object' && 'object' in kind) {
    if (typeof value === 'string') throw invalid('object')
    return readObject(kind, value, path)
  }
  if (kind === 'metadata') {
    if (typeof value === 'string') throw invalid('object')
    for (const one of Object.values(value)) if (typeof one !== 'string') throw invalid('metadata')
    return value
  }
  if (typeof value !== 'string') throw invalid('string')
  if (typeof kind === 'object') {
    if (!kind.oneOf.includes(value)) throw invalid(`value, must be one of ${kind.oneOf.join(', ')}`)
    return value
  }
  if (kind === 'integer') {
    if (!/^-?\d+$/.test(value)) throw invalid('integer')
    return Number(value)
  }
  if (kind === 'boolean') {
    if (value !== 'true' && value !== 'false') throw invalid('boolean')
    return value === 'true'
  }
  return value
}

import type { Parameters, Values } from './parameters.ts'
import { refused } from './parameters.ts'
import { listOf } from './objects.ts'
import type { State } from './state.ts'

/** A call of Stripe's API that the fake answers. */
export type FakeEndpoint = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** With `*` for an id. */
  readonly path: string
  readonly parameters: Parameters
  readonly handle: (state: State, values: Values, id: string) => object
}

/** A page of a list, the newest first. */
export function paginate<T extends { readonly id: string }>(
  all: readonly T[],
  { limit = 10, starting_after: after }: Values,
  url: string,
): object {
  if (limit < 1 || limit > 100) throw refused('Invalid integer: limit', { param: 'limit' })
  const newestFirst = all.toReversed()
  const from = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1
  const data = newestFirst.slice(from, from + limit)
  return { ...listOf([...data], url), has_more: from + data.length < newestFirst.length }
}

import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { soakSeed, soakSize } from './sizes.ts'

/*
 * Properties of what usage costs. `npm test` tries each with a thousand cases and `npm run soak -- billing`
 * with a hundred thousand. A failure prints its seed, with which `--seed` repeats the run.
 */

export const billingSeed = soakSeed(randomInt(2 ** 31))

/** How many cases are tried of a property; of one whose cases are slow, `share` of them. */
export function billingCases(share = 1): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: Math.ceil(soakSize('billing').cases * share), seed: billingSeed }
}

export async function tryProperty<T>(
  property: fc.IProperty<T> | fc.IAsyncProperty<T>,
  { share = 1 }: { readonly share?: number } = {},
): Promise<void> {
  await fc.assert(property as fc.IAsyncProperty<T>, billingCases(share))
}

/** Numbers that follow from a seed alone. */
export type Random = {
  /** From 0 to below 1. */
  fraction(): number
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number
  pick<T>(list: readonly T[]): T
  pickWeighted<T extends { readonly weight: number }>(list: readonly T[]): T
  /** Another stream, which goes its own way whatever this one draws. */
  fork(name: string): Random
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0

  // mulberry32
  function fraction(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number) => Math.floor(fraction() * bound)

  return {
    fraction,
    below,
    pick: (list) => list[below(list.length)]!,
    pickWeighted(list) {
      let left = fraction() * list.reduce((sum, { weight }) => sum + weight, 0)
      return list.find(({ weight }) => (left -= weight) < 0) ?? list.at(-1)!
    },
    fork(name) {
      let hash = seed >>> 0
      for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193)
      return createRandom(hash)
    },
  }
}

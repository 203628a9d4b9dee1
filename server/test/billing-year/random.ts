/** Numbers that follow from a seed. */
export type Random = {
  /** A whole number from 0 to below the limit, which is at most 2^53. */
  below(limit: number): number
  chance(probability: number): boolean
}

/** The generator splitmix64. */
export function createRandom(seed: number): Random {
  let state = BigInt(seed)
  const next = (): number => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n)
    let mixed = state
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n)
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn)
    return Number((mixed ^ (mixed >> 31n)) >> 11n) / 2 ** 53
  }
  return {
    below: (limit) => Math.floor(next() * limit),
    chance: (probability) => next() < probability,
  }
}

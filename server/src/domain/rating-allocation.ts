/**
 * Splits an amount into shares that are proportional to quantities and add up to it exactly: each share is
 * rounded down, and what is left goes in single units to the largest remainders, the first of equal ones
 * first. If all quantities are 0, so are the shares, and the amount has to be 0 too.
 */
export function allocate(amount: bigint, quantities: readonly bigint[]): bigint[] {
  if (amount < 0n || quantities.some((quantity) => quantity < 0n)) {
    throw new RangeError('an amount and its quantities cannot be negative')
  }
  const sum = quantities.reduce((total, quantity) => total + quantity, 0n)
  if (sum === 0n) {
    if (amount !== 0n) throw new RangeError('an amount cannot be split among quantities of 0')
    return quantities.map(() => 0n)
  }
  const shares = quantities.map((quantity) => (amount * quantity) / sum)
  const remainders = quantities.map((quantity, index) => ({
    index,
    remainder: (amount * quantity) % sum,
  }))
  // Fewer units are left than there are shares with a remainder. Sorting is stable.
  const left = Number(amount - shares.reduce((total, share) => total + share, 0n))
  const first = remainders.toSorted((a, b) => compare(b.remainder, a.remainder)).slice(0, left)
  for (const { index } of first) shares[index]! += 1n
  return shares
}

function compare(a: bigint, b: bigint): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

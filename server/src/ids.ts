import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
let lastMs = 0
let lastRandom = 0n

/**
 * The 26 lower-case Crockford base-32 characters of a ULID: 48 bits of milliseconds, 80 random.
 * Within a process they always rise, so that ids made in one millisecond keep their order.
 */
export function newUlid(nowMs = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    lastRandom = BigInt(`0x${randomBytes(10).toString('hex')}`)
  } else {
    lastRandom = (lastRandom + 1n + BigInt(randomBytes(1)[0]!)) & ((1n << 80n) - 1n)
  }
  let value = (BigInt(lastMs) << 80n) | lastRandom
  let text = ''
  for (let index = 0; index < 26; index++) {
    text = alphabet[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}

export function newId<Prefix extends string>(prefix: Prefix): `${Prefix}_${string}` {
  return `${prefix}_${newUlid()}`
}

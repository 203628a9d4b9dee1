import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** The random part is two 40-bit numbers, so that plain number arithmetic suffices. */
const half = 2 ** 40
let lastMs = 0
let time = ''
let [high, low] = [0, 0]

/**
 * A ULID in 26 lower-case Crockford base-32 characters: 48 bits of milliseconds, 80 random bits.
 * Within a process the values always increase, also within a millisecond or if the clock goes back.
 */
export function newUlid(nowMs = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    time = encode(nowMs, 10)
    high = randomNumber(5)
    low = randomNumber(5)
  } else {
    low += 1 + randomNumber(1)
    if (low >= half) {
      low -= half
      high = (high + 1) % half
    }
  }
  return time + encode(high, 8) + encode(low, 8)
}

export function newId<Prefix extends string>(prefix: Prefix): `${Prefix}_${string}` {
  return `${prefix}_${newUlid()}`
}

/** All ids of that kind that were made before a time are smaller. */
export function firstIdAt<Prefix extends string>(
  prefix: Prefix,
  timeMs: number,
): `${Prefix}_${string}` {
  return `${prefix}_${encode(timeMs, 10)}`
}

function encode(value: number, length: number): string {
  let text = ''
  for (let index = 0; index < length; index++) {
    text = alphabet[value % 32] + text
    value = Math.floor(value / 32)
  }
  return text
}

/** Random bytes are read in bulk: a read for each id would dominate the cost of making one. */
const pool = Buffer.alloc(4096)
let used = pool.length

function randomNumber(bytes: number): number {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return pool.readUIntBE(used - bytes, bytes)
}

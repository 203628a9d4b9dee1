import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const bodyLength = 32
const checksumLength = 6

/** The prefix of every secret, which lets scanners find leaked ones. */
const secretMark = 'computer_'

/** The prefix, 32 base-62 characters (190 bits) and their CRC-32. */
export function createSecret(): string {
  const body = Array.from({ length: bodyLength }, () => alphabet[randomInt(62)]).join('')
  return `${secretMark}${body}${checksum(body)}`
}

/** Checks format and checksum, so that mistyped and truncated secrets need no database query. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(secretMark)) return false
  const rest = text.slice(secretMark.length)
  const body = rest.slice(0, bodyLength)
  return /^[0-9A-Za-z]{38}$/.test(rest) && rest.slice(bodyLength) === checksum(body)
}

export function secretPrefix(secret: string): string {
  return secret.slice(0, secretMark.length + 6)
}

function checksum(body: string): string {
  let value = crc32(body)
  let text = ''
  for (let index = 0; index < checksumLength; index++) {
    text = alphabet[value % 62] + text
    value = Math.floor(value / 62)
  }
  return text
}

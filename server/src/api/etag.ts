import { createHash } from 'node:crypto'

/** A strong ETag: it changes with every byte. */
export function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}

/** Whether the header if-none-match names the ETag. `W/` makes no difference to it (RFC 9110, 13.1.2). */
export function isNamed(ifNoneMatch: string | undefined, etag: string): boolean {
  const named = ifNoneMatch?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? []
  return named.includes(etag) || named.includes('*')
}

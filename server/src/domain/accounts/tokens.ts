import { createHash, randomBytes } from 'node:crypto'

/** The purpose is part of the token, so that a leaked token can be recognized. */
type Purpose =
  | 'session'
  | 'reset'
  | 'login_link'
  | 'invitation'
  | 'gateway'
  | PreviewPurpose
  | HelpPurpose
type PreviewPurpose = 'preview' | 'preview_link' | 'preview_cookie'
type HelpPurpose = 'help_link' | 'help_guest'

const shape = /^[\w-]{43}$/

/** A prefix and 256 random bits. The database stores only the hash. */
export function createToken(purpose: Purpose): string {
  return prefixOf(purpose) + randomBytes(32).toString('base64url')
}

/** Checks the format, so that mistyped and truncated tokens need no database query. */
export function isToken(purpose: Purpose, text: string): boolean {
  const prefix = prefixOf(purpose)
  return text.startsWith(prefix) && shape.test(text.slice(prefix.length))
}

/** SHA-256 suffices, because tokens and API key secrets have too much entropy to be guessed. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function prefixOf(purpose: Purpose): string {
  return `computer_${purpose}_`
}

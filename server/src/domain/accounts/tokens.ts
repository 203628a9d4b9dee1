import { createHash, randomBytes } from 'node:crypto'

/** What a token opens; it says so itself, so that one in a leaked file is known for what it is. */
type Purpose = 'session' | 'reset' | 'invitation' | 'gateway' | PreviewPurpose
type PreviewPurpose = 'preview' | 'preview_link' | 'preview_cookie'

const shape = /^[\w-]{43}$/

/** 256 random bits behind a mark. The database keeps its hash alone. */
export function createToken(purpose: Purpose): string {
  return markOf(purpose) + randomBytes(32).toString('base64url')
}

/** Whether it can be a token of ours: spares the database what is mistyped or cut off. */
export function isToken(purpose: Purpose, text: string): boolean {
  const mark = markOf(purpose)
  return text.startsWith(mark) && shape.test(text.slice(mark.length))
}

/** SHA-256 suffices: a token, or the secret of a key, has too many bits to be guessed from its hash. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function markOf(purpose: Purpose): string {
  return `computer_${purpose}_`
}

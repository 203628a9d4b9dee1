import { ApiError } from '@computer/sdk'
import { helpGuest } from './guest-client.ts'

/*
 * The takeover link, such as `/help#TOKEN`. Its token is taken out of the address at once: it must not stay in the history
 * or in a picture of the screen. The tab keeps it until the server has answered, and the browser remembers a part of the
 * token that it has spent, so that the same link goes on with the cookie in another tab.
 */

const pendingKey = 'help link'
const spentKey = 'spent help link'
const rememberedCharacters = 12

/** Takes the token out of the address. Null: the page was opened again, or without one. */
export function takeToken(): string | null {
  const token = location.hash.slice(1)
  if (token === '') return read(sessionStorage, pendingKey)
  write(sessionStorage, pendingKey, token)
  history.replaceState(history.state, '', location.pathname)
  return token
}

/** Spends the token for the cookie, unless this browser has. One tab at a time, so that none loses to another. */
export async function spendLink(token: string): Promise<void> {
  // Absent on plain http.
  const locks = navigator.locks as LockManager | undefined
  const spend = () => spendOnce(token)
  await (locks ? locks.request(pendingKey, spend) : spend())
}

async function spendOnce(token: string): Promise<void> {
  const isSpent = () => read(localStorage, spentKey) === token.slice(-rememberedCharacters)
  try {
    if (!isSpent()) await helpGuest.redeem(token)
    write(localStorage, spentKey, token.slice(-rememberedCharacters))
  } catch (error) {
    if (isUnanswered(error)) throw error
    // Another tab may have been faster.
    if (!isSpent()) {
      write(sessionStorage, pendingKey, null)
      throw error
    }
  }
  write(sessionStorage, pendingKey, null)
}

/** The link may still work. */
export function isUnanswered(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code === 'connection_failed'
}

/** Without storage a reload asks for the link again. */
function read(storage: Storage, key: string): string | null {
  try {
    return storage.getItem(key)
  } catch {
    return null
  }
}

function write(storage: Storage, key: string, value: string | null): void {
  try {
    if (value === null) storage.removeItem(key)
    else storage.setItem(key, value)
  } catch {
    // The browser keeps nothing.
  }
}

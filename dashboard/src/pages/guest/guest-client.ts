import { Computer } from '@computer/sdk'

/**
 * The calls of the guest, with the cookie that the browser got for the link. A page that is left or loaded again does not
 * abort a call that changes something: the link is spent once, and the answer brings its cookie.
 */
export const { helpGuest } = new Computer({
  maxRetries: 1,
  unavailableTimeoutMs: 0,
  closeOnExit: false,
  fetch: (url, init) => fetch(url, { ...init, keepalive: init?.method === 'POST' }),
})

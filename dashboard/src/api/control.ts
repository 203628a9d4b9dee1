import type { InputLease, Machine } from '@computer/sdk'

/*
 * A person's control of a machine: a session of type human that holds the input lease. It exists only while
 * the person drives, because looking needs none.
 */

/** Hidden tabs run timers once a minute, so a lease of this length survives two renewals that fail. */
const leaseSeconds = 180
export const renewalMs = 60_000

/** Takes control from whoever has it. Once this resolves, no input of another reaches the machine. */
export async function takeControl({ input }: Machine): Promise<InputLease> {
  return input.acquire({ force: true, ttlSeconds: leaseSeconds })
}

/**
 * Prolongs control that is still held. Null: it had ended, and stays so, because a person must never be
 * made to drive again by a timer.
 */
export async function renewControl(
  { input }: Machine,
  held: InputLease,
): Promise<InputLease | null> {
  if (Date.parse(held.expiresAt!) <= Date.now()) return null
  const renewed = await input.acquire({ ttlSeconds: leaseSeconds })
  if (renewed.acquiredAt === held.acquiredAt) return renewed
  await input.release()
  return null
}

/** Gives up control. The session stays for the socket that still shows the screen. */
export async function handBackControl({ input }: Machine): Promise<void> {
  // After a failed renewal the SDK does not know of the lease; closing the session releases it as well.
  await (input.state === 'held' ? input.release() : input.close())
}

/** Closes the session, and with it the lease. */
export async function endControl({ input }: Machine): Promise<void> {
  await input.close()
}

/** Closes the session of a page that goes away: the browser finishes this request without the page. */
export function endControlOnLeave({ input }: Machine, sessionId: string): void {
  input.abandon()
  const url = `/v1/sessions/${encodeURIComponent(sessionId)}`
  void fetch(url, { method: 'DELETE', keepalive: true }).catch(() => {})
}

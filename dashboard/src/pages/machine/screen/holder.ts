import type { InputLease, Principal } from '@computer/sdk'
import type { ScreenState } from './live-screen.ts'

export type Holder =
  | { readonly is: 'unknown' }
  | { readonly is: 'nobody' }
  | { readonly is: 'you' }
  | { readonly is: 'another'; readonly name: string; readonly expiresAt: string | null }

/** Who drives the machine, as this page should say it. */
export function holderOf(
  { lease, sessionId }: Pick<ScreenState, 'lease' | 'sessionId'>,
  { user }: Pick<Principal, 'user'>,
): Holder {
  if (!lease) return { is: 'unknown' }
  if (!lease.holder) return { is: 'nobody' }
  if (lease.holder.sessionId === sessionId) return { is: 'you' }
  return { is: 'another', name: nameOf(lease.holder, user?.id), expiresAt: lease.expiresAt }
}

function nameOf(
  { openedBy }: NonNullable<InputLease['holder']>,
  ownId: string | undefined,
): string {
  return openedBy.id === ownId ? 'Another window of yours' : openedBy.name
}

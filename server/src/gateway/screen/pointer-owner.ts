import { maxPointerNameLength, type ScreenPointer, type SessionId } from '@computer/contract'
import type { Actor } from '../../actor.ts'

/** Whom the others on a screen see behind a pointer. */
export type PointerOwner = Pick<ScreenPointer, 'name' | 'kind' | 'session_id'>

/**
 * The owner of a client's pointer. The type of its session tells a person from an agent, because a person also looks
 * through a program with an API key; without a session, its credential does.
 */
export function ownerOf(
  { principal, guest }: Pick<Actor, 'principal' | 'guest'>,
  session: { readonly id: SessionId; readonly type: 'human' | 'agent' | 'view' } | undefined,
): PointerOwner {
  const isAgent = session ? session.type === 'agent' : principal.type === 'api_key'
  return {
    name: cutName((guest ?? principal).name),
    kind: isAgent ? 'agent' : 'person',
    session_id: session?.id ?? null,
  }
}

export function cutName(name: string): string {
  if (name.length <= maxPointerNameLength) return name
  const cut = name.slice(0, maxPointerNameLength - 1)
  // The cut may have split a pair of surrogates.
  return `${cut.replace(/[\ud800-\udbff]$/, '')}…`
}

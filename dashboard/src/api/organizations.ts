import { computer } from './client.ts'
import { forgetMachines } from './machines.ts'
import { queryClient } from './query-client.ts'
import { sessionQuery } from './session.ts'

/*
 * A browser session acts in one organization in all its tabs. The tab that switches tells the others; a
 * tab that was asleep compares on focus. Then everything of the old organization is dropped by a reload.
 */

const channel =
  typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('organization')

/** Acts in another organization from now on, in all tabs. This one opens `path`. */
export async function switchOrganization(organizationId: string, path = '/'): Promise<void> {
  await computer.auth.switchOrganization(organizationId)
  leaveFor(organizationId, path)
}

/** Tells the other tabs, drops what this one knows and begins afresh; null is nobody's, after signing out. */
export function leaveFor(organizationId: string | null, path = '/'): void {
  channel?.postMessage(organizationId)
  dropState()
  // Back would show this page as it was, of an organization that this browser has left.
  window.addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
  location.assign(path)
}

/** Reloads this tab when another one has switched or signed out. Returns what ends it. */
export function watchOrganization(): () => void {
  const own = () => queryClient.getQueryData(sessionQuery.queryKey)?.organization.id
  const onMessage = ({ data }: MessageEvent<unknown>) => {
    if (data === null || data !== own()) reload()
  }
  const onFocus = () => {
    const before = own()
    if (before === undefined) return
    void queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).then(
      ({ organization }) => organization.id !== before && reload(),
      () => {},
    )
  }
  channel?.addEventListener('message', onMessage)
  window.addEventListener('focus', onFocus)
  return () => {
    channel?.removeEventListener('message', onMessage)
    window.removeEventListener('focus', onFocus)
  }
}

function reload(): void {
  dropState()
  location.reload()
}

function dropState(): void {
  queryClient.clear()
  forgetMachines()
}

import { GuestBriefQuery, type GuestBrief } from '@computer/contract/guest-brief'
import { parse } from '../body.ts'
import type { Config } from '../config.ts'
import type { Desktop } from '../desktop/desktop.ts'
import type { Route } from '../server.ts'
import type { Users } from '../system/users.ts'
import { FileSearch } from './changed-files.ts'
import { readWindows } from './windows.ts'

/** The state that a caller compares with an earlier one, to tell what somebody did on the machine. */
export function briefRoute(
  desktop: Desktop,
  { agentUser }: Pick<Config, 'agentUser'>,
  users: Users,
): { readonly brief: Route } {
  const search = new FileSearch()
  return {
    brief: async ({ query }) => {
      const { since_ms: sinceMs } = parse(GuestBriefQuery, query)
      // Before the files are read: what is written meanwhile belongs to the next answer too.
      const nowMs = Date.now()
      const [screen, files] = await Promise.all([
        readScreen(desktop),
        sinceMs === undefined
          ? { files: [], has_more_files: false }
          : search.find(users.require(agentUser).home, sinceMs),
      ])
      const brief: GuestBrief = { now_ms: nowMs, ...screen, ...files }
      return { json: brief }
    },
  }
}

/** Without an X server there are no windows. */
async function readScreen(
  desktop: Desktop,
): Promise<Pick<GuestBrief, 'windows' | 'clipboard_mark'>> {
  const session = await desktop.current()
  try {
    if (session) {
      const [windows, mark] = await Promise.all([
        readWindows(session.xSession),
        session.clipboardMark.read(),
      ])
      return { windows, clipboard_mark: mark }
    }
  } catch (error) {
    if (!session?.xSession.x.isClosed) throw error
  }
  return { windows: [], clipboard_mark: '' }
}

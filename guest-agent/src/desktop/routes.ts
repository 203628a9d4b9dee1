import {
  GuestClipboardQuery,
  GuestFence,
  GuestInput,
  GuestScreenQuery,
} from '@computer/contract/guest-desktop'
import type { guestDesktopRoutes } from '@computer/contract/guest-routes'
import { parse, parseBody } from '../body.ts'
import { briefRoute } from '../brief/route.ts'
import type { Config } from '../config.ts'
import type { Fence } from '../fence.ts'
import { LiveScreen } from '../screen/live-screen.ts'
import { screenshotRoute } from '../screen/screenshot-route.ts'
import { screenWaitRoute } from '../screen/wait-route.ts'
import type { Route } from '../server.ts'
import type { Users } from '../system/users.ts'
import { Desktop } from './desktop.ts'
import { performInput, releaseInput } from './input.ts'
import { Privacy } from './privacy.ts'

export function desktopRoutes(
  config: Config,
  fence: Fence,
  users: Users,
): Record<keyof typeof guestDesktopRoutes | 'screen' | 'brief', Route> {
  const desktop = new Desktop(config)
  const privacy = new Privacy()
  const inputHost = { desktop, fence, rfbSocketPath: config.rfbSocketPath }
  const liveScreen = new LiveScreen(inputHost)
  const release = async () => {
    await releaseInput(desktop)
    await privacy.settle(() => emptyClipboard(desktop))
  }
  return {
    fence: async ({ body }) => {
      const { private_to: privateTo, ...to } = await parseBody(GuestFence, body)
      const begin = (released: Promise<void>) => {
        if (privacy.begin(privateTo, released)) liveScreen.restart()
      }
      return { json: { fence: await fence.raise(to, release, begin) } }
    },
    display: async () => ({ json: await desktop.readState() }),
    ...screenshotRoute(desktop, privacy),
    ...screenWaitRoute(desktop, privacy),
    input: async ({ body }) => ({
      json: await performInput(inputHost, await parseBody(GuestInput, body)),
    }),
    screen: async ({ query }) => {
      const { viewer } = parse(GuestScreenQuery, query)
      await privacy.admit(viewer)
      return {
        // A holding may have begun since.
        duplex: (stream) => (privacy.allows(viewer) ? liveScreen.open(stream) : stream.destroy()),
      }
    },
    readClipboard: async ({ query, signal }) => {
      const { selection, viewer } = parse(GuestClipboardQuery, query)
      const text = await privacy.look(viewer, signal, async () => {
        const { clipboard } = await desktop.requireUp()
        return clipboard.read(selection)
      })
      return { json: { text } }
    },
    ...briefRoute(desktop, config, users),
  }
}

/** Returns false if that failed. */
async function emptyClipboard(desktop: Desktop): Promise<boolean> {
  const session = await desktop.current()
  try {
    await session?.clipboard.empty()
    return true
  } catch (error) {
    // With the X server gone, its clipboard is too.
    if (session?.xSession.x.isClosed) return true
    console.error('could not empty the clipboard after a private holding', error)
    return false
  }
}

import { GuestClipboardQuery, GuestFence, GuestInput } from '@computer/contract/guest-desktop'
import type { guestDesktopRoutes } from '@computer/contract/guest-routes'
import { parse, parseBody } from '../body.ts'
import type { Config } from '../config.ts'
import type { Fence } from '../fence.ts'
import { LiveScreen } from '../screen/live-screen.ts'
import { screenshotRoute } from '../screen/screenshot-route.ts'
import { screenWaitRoute } from '../screen/wait-route.ts'
import type { Route } from '../server.ts'
import { Desktop } from './desktop.ts'
import { performInput, releaseInput } from './input.ts'

export function desktopRoutes(
  config: Config,
  fence: Fence,
): Record<keyof typeof guestDesktopRoutes | 'screen', Route> {
  const desktop = new Desktop(config)
  const inputHost = { desktop, fence, rfbSocketPath: config.rfbSocketPath }
  const liveScreen = new LiveScreen(inputHost)
  return {
    fence: async ({ body }) => {
      const request = await parseBody(GuestFence, body)
      return { json: { fence: await fence.raise(request, () => releaseInput(desktop)) } }
    },
    display: async () => ({ json: await desktop.readState() }),
    ...screenshotRoute(desktop),
    ...screenWaitRoute(desktop),
    input: async ({ body }) => ({
      json: await performInput(inputHost, await parseBody(GuestInput, body)),
    }),
    screen: async () => ({ duplex: (stream) => liveScreen.open(stream) }),
    readClipboard: async ({ query }) => {
      const { selection } = parse(GuestClipboardQuery, query)
      const { clipboard } = await desktop.requireUp()
      return { json: { text: await clipboard.read(selection) } }
    },
  }
}

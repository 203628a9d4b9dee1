import { GuestScreenshotQuery } from '@computer/contract/guest-desktop'
import { parse } from '../body.ts'
import type { Desktop, DesktopSession } from '../desktop/desktop.ts'
import type { Privacy } from '../desktop/privacy.ts'
import { requireInside } from '../desktop/screenshots.ts'
import type { Route } from '../server.ts'
import type { Rectangle } from '../x11/requests.ts'
import { toRectangle } from './rectangles.ts'

/** A screenshot, after a wait until the screen has settled if the caller wants that. */
export function screenshotRoute(
  desktop: Desktop,
  privacy: Privacy,
): { readonly screenshot: Route } {
  return {
    screenshot: async ({ query, signal }) => {
      const request = parse(GuestScreenshotQuery, query)
      return privacy.look(request.viewer, signal, (until) => take(desktop, request, until))
    },
  }
}

type Request = ReturnType<typeof GuestScreenshotQuery.parse>

async function take(desktop: Desktop, request: Request, signal: AbortSignal) {
  const session = await desktop.requireUp()
  const region = request.region === undefined ? undefined : toRectangle(request.region)
  if (region) requireInside(region, session.xSession.size)
  const settled = await settle(session, request, region, signal)
  const { format, quality, scale, max_width: maxWidth } = request
  const shot = await session.screenshots.take({ format, quality, region, scale, maxWidth })
  const headers = {
    'content-type': `image/${format}`,
    'x-screenshot-id': shot.id,
    'x-image-width': String(shot.image.width),
    'x-image-height': String(shot.image.height),
    'x-display-width': String(shot.display.width),
    'x-display-height': String(shot.display.height),
    ...settled,
  }
  return { bytes: shot.bytes, headers }
}

/** The headers that say what came of the wait. */
async function settle(
  { settling }: DesktopSession,
  request: Request,
  region: Rectangle | undefined,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { settle_ms: settleMs = 0, timeout_ms: timeoutMs } = request
  if (settleMs === 0) return {}
  const ignored = request.ignore?.split(';').map(toRectangle) ?? []
  const { changing } = await settling.wait({ settleMs, timeoutMs, region, ignored, signal })
  if (!changing) return { 'x-settled': 'true' }
  const { x, y, width, height } = changing
  return { 'x-settled': 'false', 'x-changing': [x, y, width, height].join() }
}

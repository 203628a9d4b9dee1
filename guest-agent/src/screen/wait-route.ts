import { GuestScreenWaitQuery, type GuestScreenWait } from '@computer/contract/guest-desktop'
import { setTimeout as pause } from 'node:timers/promises'
import type { z } from 'zod'
import { parse } from '../body.ts'
import type { Desktop } from '../desktop/desktop.ts'
import type { Privacy } from '../desktop/privacy.ts'
import { requireInside } from '../desktop/screenshots.ts'
import type { Route } from '../server.ts'
import { overlaps, toRectangle, union } from './rectangles.ts'

const pollMs = 25

/** Answers when the screen differs from one that was shown, or after the caller's time. */
export function screenWaitRoute(
  desktop: Desktop,
  privacy: Privacy,
): { readonly waitForScreen: Route } {
  return {
    waitForScreen: async ({ query, signal }) => {
      const request = parse(GuestScreenWaitQuery, query)
      return {
        json: await privacy.look(request.viewer, signal, (until) => wait(desktop, request, until)),
      }
    },
  }
}

async function wait(
  desktop: Desktop,
  request: z.output<typeof GuestScreenWaitQuery>,
  signal: AbortSignal,
): Promise<z.output<typeof GuestScreenWait>> {
  const { xSession, screenshots } = await desktop.requireUp()
  const endMs = performance.now() + request.timeout_ms
  const region = request.region === undefined ? undefined : toRectangle(request.region)
  if (region) requireInside(region, xSession.size)
  const ignored = request.ignore?.split(';').map(toRectangle) ?? []
  for (;;) {
    const all = await screenshots.changesSince(request.since, region)
    const changed = all.filter((block) => !ignored.some((area) => overlaps(area, block)))
    const leftMs = endMs - performance.now()
    if (changed.length > 0 || leftMs <= 0) {
      const changing = changed.length > 0 ? changed.reduce(union) : null
      return { changed: changing !== null, changing }
    }
    await pause(Math.min(pollMs, Math.ceil(leftMs)), undefined, { signal })
  }
}

import type { Display, Point } from '@computer/contract'
import type { GuestInput } from '@computer/contract/guest-desktop'
import type { Fence, FenceGrant } from '../fence.ts'
import type { Desktop, DesktopSession } from './desktop.ts'
import { waitForFocus } from './focus.ts'
import { resizeDisplay } from './resize.ts'

export type InputHost = {
  readonly desktop: Desktop
  readonly fence: Fence
  readonly rfbSocketPath: string
}

/** Performs one input under its fence. Returns the new geometry after a resize. */
export function performInput(host: InputHost, input: GuestInput): Promise<{ display?: Display }> {
  return host.fence.input(input.fence, async (grant) => {
    const session = await host.desktop.requireUp()
    grant.check()
    return act(host, session, grant, input)
  })
}

/** Releases what is pressed, and waits until all input sent so far has taken effect: see Fence. */
export async function releaseInput(desktop: Desktop): Promise<void> {
  const session = await desktop.current()
  if (!session) return
  session.pointer.releaseAll()
  session.keyboard.releaseAll()
  // If the display is gone, nothing is pressed.
  await session.xSession.x.sync().catch(() => {})
}

async function act(
  host: InputHost,
  session: DesktopSession,
  grant: FenceGrant,
  { action, seen }: GuestInput,
): Promise<{ display?: Display }> {
  const { pointer, keyboard, clipboard, guard, xSession } = session
  if (action.type === 'type' || action.type === 'key' || action.type === 'hotkey') {
    await waitForFocus(xSession, pointer.lastPressAtMs)
    if (seen) await guard.requireActiveWindow(seen)
    grant.check()
  }
  /** If the screen around the points is as the caller saw it. */
  const guarded = async (points: readonly (Point | undefined)[], perform: () => Promise<void>) => {
    if (!seen) return perform()
    pointer.requireInside(points)
    const at = points.map(async (point) => point ?? pointer.position())
    return guard.actAt(seen, await Promise.all(at), grant, perform)
  }
  switch (action.type) {
    case 'move':
      await guarded([action], () => pointer.move(grant, action))
      return {}
    case 'click':
      await guarded([action.at], () => pointer.click(grant, action))
      return {}
    case 'drag':
      // Programs must be able to follow it, so no other is held up meanwhile.
      await guarded([action.from, action.to], async () => {})
      await pointer.drag(grant, action)
      return {}
    case 'scroll':
      await guarded([action.at], () => pointer.scroll(grant, action))
      return {}
    case 'type':
      await keyboard.type(grant, action)
      return {}
    case 'key':
      await keyboard.key(grant, action)
      return {}
    case 'hotkey':
      await keyboard.hotkey(grant, action)
      return {}
    case 'write_clipboard':
      await clipboard.write(action.selection, action.text)
      return {}
    case 'resize': {
      if (seen) guard.requireSize(seen)
      await resizeDisplay(xSession, host.rfbSocketPath, action)
      return { display: { ...xSession.size, up: true } }
    }
  }
}

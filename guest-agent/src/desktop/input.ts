import type { Display } from '@computer/contract'
import type { GuestAction, GuestInput } from '@computer/contract/guest'
import type { Fence, Grant } from '../fence.ts'
import type { Desktop, Seat } from './desktop.ts'
import { waitForFocus } from './focus.ts'
import { resizeDisplay } from './resize.ts'

export type InputHost = {
  readonly desktop: Desktop
  readonly fence: Fence
  readonly rfbSocketPath: string
}

/** Does one input under its fence. The new geometry after a resize, else nothing. */
export function performInput(host: InputHost, input: GuestInput): Promise<{ display?: Display }> {
  return host.fence.input(input.fence, async (grant) => {
    const seat = await host.desktop.use()
    grant.check()
    return act(host, seat, grant, input.action)
  })
}

/** What has to be done before a new fence is answered: see Fence. */
export async function settle(desktop: Desktop): Promise<void> {
  const seat = await desktop.current()
  if (!seat) return
  seat.pointer.releaseAll()
  seat.keyboard.releaseAll()
  // A display that went away has nothing pressed.
  await seat.session.x.sync().catch(() => {})
}

async function act(
  host: InputHost,
  seat: Seat,
  grant: Grant,
  action: GuestAction,
): Promise<{ display?: Display }> {
  const { pointer, keyboard, clipboard, session } = seat
  if (action.type === 'type' || action.type === 'key' || action.type === 'hotkey') {
    await waitForFocus(session, pointer.lastPressAtMs)
    grant.check()
  }
  switch (action.type) {
    case 'move':
      await pointer.move(grant, action)
      return {}
    case 'click':
      await pointer.click(grant, action)
      return {}
    case 'drag':
      await pointer.drag(grant, action)
      return {}
    case 'scroll':
      await pointer.scroll(grant, action)
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
      await resizeDisplay(session, host.rfbSocketPath, action)
      return { display: { ...session.size, up: true } }
    }
  }
}

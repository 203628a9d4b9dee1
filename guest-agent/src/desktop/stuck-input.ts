import { eventCode } from '../x11/events.ts'
import { queryKeymap, queryPointer } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { fakeInput } from './fake-input.ts'

/** Releases all keys and buttons at start: an earlier agent may have died during a drag. */
export async function releaseStuckInput(session: XSession): Promise<void> {
  const { x, root } = session
  const [keys, pointer] = await Promise.all([x.ask(queryKeymap()), x.ask(queryPointer(root))])
  const buttons = pointer.readUInt16LE(24) >> 8
  for (const button of [1, 2, 3]) {
    if (buttons & (1 << (button - 1))) x.send(fakeInput(session, eventCode.buttonRelease, button))
  }
  for (let keycode = x.setup.minKeycode; keycode <= x.setup.maxKeycode; keycode++) {
    if (keys[8 + (keycode >> 3)]! & (1 << (keycode & 7))) {
      x.send(fakeInput(session, eventCode.keyRelease, keycode))
    }
  }
}

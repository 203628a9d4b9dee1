import type { Point } from '@computer/contract'
import { extensionRequest, pair } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'

/** XTEST's FakeInput. `detail` is the keycode or the button; motion is absolute. */
export function fakeInput(
  session: XSession,
  kind: number,
  detail: number,
  at: Point = { x: 0, y: 0 },
): Buffer {
  const now = 0
  const anyScreen = 0
  const words = [kind | (detail << 8), now, anyScreen, 0, 0, pair(at.x, at.y), 0, 0]
  return extensionRequest(session.xtest, 2, words)
}

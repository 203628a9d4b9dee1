import { limitsFromGuest } from '@computer/contract/guest-streams'
import type { Clipboard } from '../desktop/clipboard.ts'
import { extensionRequest } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { LatestReader } from './latest-reader.ts'

/**
 * Reports the text that a program inside copies (XFIXES notifies), until it is disposed of. It
 * skips text that the agent wrote itself and text that is too long for viewers. A program that
 * takes the clipboard again and again is asked only as fast as it answers.
 */
export function watchClipboard(
  session: XSession,
  clipboard: Clipboard,
  onText: (text: string) => void,
): Disposable {
  const { x, root, fixes, atoms } = session
  const reader = new LatestReader(async () => {
    const text = await clipboard.readForeign('clipboard')
    return text && Buffer.byteLength(JSON.stringify(text)) <= maxBytes ? text : undefined
  }, onText)
  const selectChanges = (mask: number) =>
    x.send(extensionRequest(fixes.opcode, 2, [root, atoms.CLIPBOARD, mask]))

  const stop = x.listen(fixes.event, (event) => {
    const [window, owner, selection] = [4, 8, 12].map((offset) => event.readUInt32LE(offset))
    if (window === root && owner !== 0 && selection === atoms.CLIPBOARD) reader.notifyChange()
  })
  selectChanges(1)
  return {
    [Symbol.dispose]() {
      reader[Symbol.dispose]()
      stop()
      selectChanges(0)
    },
  }
}

/** As JSON, beside the rest of its control frame. */
const maxBytes = limitsFromGuest.control - 1024

import type { Clipboard } from '../desktop/clipboard.ts'
import { extensionRequest } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'

/**
 * Tells the text that a program inside has put into the clipboard (XFIXES says when), until it is
 * disposed of. Not what was written here, nor what is too long for a viewer; one that takes the
 * clipboard again and again is asked no more often than it answers.
 */
export function watchCopiedText(
  session: XSession,
  clipboard: Clipboard,
  onText: (text: string) => void,
): Disposable {
  const { x, root, fixes, atoms } = session
  let isReading = false
  let isStale = false
  let isOver = false
  const read = async (): Promise<void> => {
    isStale = true
    if (isReading) return
    isReading = true
    while (isStale && !isOver) {
      isStale = false
      // One that does not answer, or has no text, is as one that copied nothing.
      const text = await clipboard.readOthers('clipboard').catch(() => undefined)
      if (isOver || isStale || !text || Buffer.byteLength(text) > maxBytes) continue
      onText(text)
    }
    isReading = false
  }
  const selectChanges = (mask: number) =>
    x.send(extensionRequest(fixes.opcode, 2, [root, atoms.CLIPBOARD, mask]))

  const stop = x.listen(fixes.event, (event) => {
    const [owner, selection] = [event.readUInt32LE(8), event.readUInt32LE(12)]
    if (owner !== 0 && selection === atoms.CLIPBOARD) void read()
  })
  selectChanges(1)
  return {
    [Symbol.dispose]() {
      isOver = true
      stop()
      selectChanges(0)
    },
  }
}

const maxBytes = 1024 * 1024

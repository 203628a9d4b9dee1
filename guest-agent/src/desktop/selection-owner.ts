import { AgentError } from '../errors.ts'
import { eventCode, eventMask } from '../x11/events.ts'
import {
  changeProperty,
  createWindow,
  getSelectionOwner,
  selectEvents,
  sendEvent,
  setSelectionOwner,
} from '../x11/requests.ts'
import { predefinedAtom, type XSession } from '../x11/session.ts'

/** Owns selections and sends their text on request, in pieces (INCR) if it is long. */
export class SelectionOwner {
  readonly #session: XSession
  /** By the selection's atom. */
  readonly #contents = new Map<number, Content>()
  /** Long texts being sent, by window and property of the reader. */
  readonly #transfers = new Map<string, Transfer>()
  #window: number | undefined

  constructor(session: XSession) {
    this.#session = session
    const { x } = session
    x.listen(eventCode.selectionRequest, (event) => this.#respond(event))
    x.listen(eventCode.selectionClear, (event) => this.#contents.delete(event.readUInt32LE(12)))
    x.listen(eventCode.propertyNotify, (event) => this.#continue(event))
  }

  /** The agent's hidden window, created on first use. */
  get window(): number {
    if (this.#window === undefined) {
      const { x, root } = this.#session
      this.#window = x.newId()
      x.send(createWindow(this.#window, root, eventMask.propertyChange))
    }
    return this.#window
  }

  contentOf(selection: number): Buffer | undefined {
    return this.#contents.get(selection)?.bytes
  }

  async own(selection: number, bytes: Buffer): Promise<void> {
    const { x } = this.#session
    const time = await this.#serverTime()
    x.send(setSelectionOwner(this.window, selection, time))
    this.#contents.set(selection, { bytes, time })
    const owner = (await x.ask(getSelectionOwner(selection))).readUInt32LE(8)
    if (owner === this.#window) return
    this.#contents.delete(selection)
    throw new AgentError('conflict', 'another program took the clipboard concurrently; try again')
  }

  /** The event for a property change carries the server's time. */
  async #serverTime(): Promise<number> {
    const { x, atoms } = this.#session
    const { window } = this
    const time = Promise.withResolvers<number>()
    const stop = x.listen(eventCode.propertyNotify, (event) => {
      if (event.readUInt32LE(4) === window && event.readUInt32LE(8) === atoms.TIMESTAMP) {
        time.resolve(event.readUInt32LE(12))
      }
    })
    const nothing = Buffer.alloc(0)
    x.send(changeProperty(window, atoms.TIMESTAMP, predefinedAtom.cardinal, 32, nothing, 'append'))
    try {
      // If the connection ends first, the sync fails.
      await x.sync()
      return await time.promise
    } finally {
      stop()
    }
  }

  #respond(event: Buffer): void {
    const [time, , requestor, selection, target, requestedProperty] = [4, 8, 12, 16, 20, 24].map(
      (offset) => event.readUInt32LE(offset),
    ) as [number, number, number, number, number, number]
    // Obsolete clients name no property.
    const property = requestedProperty || target
    const content = this.#contents.get(selection)
    const isSent = content !== undefined && this.#sendContent(content, requestor, target, property)

    const notice = Buffer.alloc(32)
    notice[0] = eventCode.selectionNotify
    const words = [time, requestor, selection, target, isSent ? property : 0]
    words.forEach((word, index) => notice.writeUInt32LE(word, 4 + index * 4))
    this.#session.x.send(sendEvent(requestor, 0, notice))
  }

  #sendContent(content: Content, requestor: number, target: number, property: number): boolean {
    const { x, atoms } = this.#session
    if (target === atoms.TARGETS) {
      const targets = wordBytes([atoms.TARGETS, atoms.TIMESTAMP, ...this.#textTargets()])
      x.send(changeProperty(requestor, property, predefinedAtom.atom, 32, targets))
      return true
    }
    if (target === atoms.TIMESTAMP) {
      const time = wordBytes([content.time])
      x.send(changeProperty(requestor, property, predefinedAtom.cardinal, 32, time))
      return true
    }
    if (!this.#textTargets().includes(target)) return false

    // STRING is defined as Latin-1; TEXT leaves the encoding to the owner.
    const isLatin = target === predefinedAtom.string
    const bytes = isLatin ? Buffer.from(content.bytes.toString('utf8'), 'latin1') : content.bytes
    const type = target === atoms.TEXT ? atoms.UTF8_STRING : target
    if (bytes.length <= pieceBytes) {
      x.send(changeProperty(requestor, property, type, 8, bytes))
      return true
    }
    x.send(selectEvents(requestor, eventMask.propertyChange))
    x.send(changeProperty(requestor, property, atoms.INCR, 32, wordBytes([bytes.length])))
    const key = `${requestor} ${property}`
    clearTimeout(this.#transfers.get(key)?.timer)
    const timer = setTimeout(() => this.#transfers.delete(key), transferTimeoutMs)
    timer.unref()
    this.#transfers.set(key, { bytes, type, sent: 0, timer })
    return true
  }

  /** The reader deletes the property to request the next piece; the last piece is empty. */
  #continue(event: Buffer): void {
    const deleted = 1
    if (event[16] !== deleted) return
    const window = event.readUInt32LE(4)
    const property = event.readUInt32LE(8)
    const key = `${window} ${property}`
    const transfer = this.#transfers.get(key)
    if (!transfer) return
    const piece = transfer.bytes.subarray(transfer.sent, transfer.sent + pieceBytes)
    this.#session.x.send(changeProperty(window, property, transfer.type, 8, piece))
    transfer.sent += piece.length
    transfer.timer.refresh()
    if (piece.length > 0) return
    clearTimeout(transfer.timer)
    this.#transfers.delete(key)
    this.#session.x.send(selectEvents(window, 0))
  }

  #textTargets(): number[] {
    const { atoms } = this.#session
    const mime = [atoms['text/plain;charset=utf-8'], atoms['text/plain']]
    return [atoms.UTF8_STRING, ...mime, atoms.TEXT, predefinedAtom.string]
  }
}

type Content = { readonly bytes: Buffer; readonly time: number }
type Transfer = {
  readonly bytes: Buffer
  readonly type: number
  readonly timer: NodeJS.Timeout
  sent: number
}

/** A request of the core protocol is limited to 256 KiB. */
const pieceBytes = 192 * 1024
const transferTimeoutMs = 10_000

function wordBytes(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 4)
  words.forEach((word, index) => bytes.writeUInt32LE(word, index * 4))
  return bytes
}

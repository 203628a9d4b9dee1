import { Refusal } from '../refusal.ts'
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

/** Owns selections and hands their text to whoever asks, in pieces (INCR) when it is long. */
export class SelectionOwner {
  readonly #session: XSession
  /** By the selection's atom. */
  readonly #contents = new Map<number, Content>()
  /** Rests of long texts, by window and property of who reads them. */
  readonly #transfers = new Map<string, Transfer>()
  #window: number | undefined

  constructor(session: XSession) {
    this.#session = session
    const { x } = session
    x.listen(eventCode.selectionRequest, (event) => this.#answer(event))
    x.listen(eventCode.selectionClear, (event) => this.#contents.delete(event.readUInt32LE(12)))
    x.listen(eventCode.propertyNotify, (event) => this.#continue(event))
  }

  /** Hidden, ours, and made when it is first needed. */
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
    throw new Refusal('conflict', 'another program took the clipboard at the same moment')
  }

  /** A change of a property of ours comes back with the server's clock. */
  async #serverTime(): Promise<number> {
    const { x, atoms } = this.#session
    const { window } = this
    const noticed = Promise.withResolvers<number>()
    const stop = x.listen(eventCode.propertyNotify, (event) => {
      if (event.readUInt32LE(4) === window && event.readUInt32LE(8) === atoms.TIMESTAMP) {
        noticed.resolve(event.readUInt32LE(12))
      }
    })
    const nothing = Buffer.alloc(0)
    x.send(changeProperty(window, atoms.TIMESTAMP, predefinedAtom.cardinal, 32, nothing, 'append'))
    try {
      // Should the connection end first, the sync fails and the wait with it.
      await x.sync()
      return await noticed.promise
    } finally {
      stop()
    }
  }

  #answer(event: Buffer): void {
    const [time, , requestor, selection, target, asked] = [4, 8, 12, 16, 20, 24].map((offset) =>
      event.readUInt32LE(offset),
    ) as [number, number, number, number, number, number]
    // Clients of the first days name no property.
    const property = asked || target
    const content = this.#contents.get(selection)
    const isGiven = content !== undefined && this.#give(content, requestor, target, property)

    const notice = Buffer.alloc(32)
    notice[0] = eventCode.selectionNotify
    const words = [time, requestor, selection, target, isGiven ? property : 0]
    words.forEach((word, index) => notice.writeUInt32LE(word, 4 + index * 4))
    this.#session.x.send(sendEvent(requestor, 0, notice))
  }

  #give(content: Content, requestor: number, target: number, property: number): boolean {
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

    // STRING is Latin-1 by its definition; TEXT leaves the choice to the owner.
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
    const timer = setTimeout(() => this.#transfers.delete(key), abandonedMs)
    timer.unref()
    this.#transfers.set(key, { bytes, type, sent: 0, timer })
    return true
  }

  /** The reader deletes the property when it has read a piece; the last piece is empty. */
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

/** One request of the core protocol holds 256 KiB. */
const pieceBytes = 192 * 1024
const abandonedMs = 10_000

function wordBytes(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 4)
  words.forEach((word, index) => bytes.writeUInt32LE(word, index * 4))
  return bytes
}

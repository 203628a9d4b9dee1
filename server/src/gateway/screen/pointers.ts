import {
  maxPointers,
  pointersPerSecond,
  type ScreenPlace,
  type ScreenPointer,
} from '@computer/contract'
import type { Connection } from '../connection.ts'
import type { PointerOwner } from './pointer-owner.ts'

const slotMs = 1_000 / pointersPerSecond

type PointerConnection = Pick<
  Connection,
  'isOpen' | 'hasRoom' | 'drained' | 'sendControl' | 'onEnd'
>

type Member = {
  readonly connection: PointerConnection
  readonly id: string
  readonly owner: PointerOwner
  at: ScreenPlace | null
  /** The pointers that the client was last told. */
  told: string
  isAwaitingRoom: boolean
}

/**
 * The pointers that the clients of one hub see of each other. Changes within a slot are sent together, to each client
 * that sees one. A client whose socket has no room gets the newest places once it has. The machine gets nothing.
 * Clients of another gateway process are in another hub, and are not seen.
 */
export class Pointers implements Disposable {
  readonly #ghosts: { readonly shown: readonly ScreenPointer[] }
  /** The client that pointed last comes last. */
  readonly #members = new Set<Member>()
  #slot: NodeJS.Timeout | undefined
  #hasChanged = false

  constructor(ghosts: { readonly shown: readonly ScreenPointer[] }) {
    this.#ghosts = ghosts
  }

  /** Adds a client, whose pointer vanishes when its connection ends. The result takes the places of its pointer. */
  add(
    connection: PointerConnection,
    id: string,
    owner: PointerOwner,
  ): (at: ScreenPlace | null) => void {
    const member = { connection, id, owner, at: null, told: '[]', isAwaitingRoom: false }
    this.#members.add(member)
    connection.onEnd(() => {
      this.#members.delete(member)
      this.change()
    })
    this.change()
    return (at) => this.#place(member, at)
  }

  /** Tells the clients now, or with the end of the slot. */
  change(): void {
    this.#hasChanged = true
    if (this.#slot === undefined) this.#tellAll()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#slot)
    this.#members.clear()
  }

  #place(member: Member, at: ScreenPlace | null): void {
    if (isSamePlace(member.at, at)) return
    member.at = at
    if (this.#members.delete(member)) this.#members.add(member)
    this.change()
  }

  #tellAll(): void {
    this.#slot = undefined
    if (!this.#hasChanged || this.#members.size === 0) return
    this.#hasChanged = false
    this.#slot = setTimeout(() => this.#tellAll(), slotMs)
    for (const member of this.#members) this.#tell(member)
  }

  #tell(member: Member): void {
    const { connection } = member
    if (!connection.hasRoom) return this.#tellWhenDrained(member)
    const pointers = this.#seenBy(member)
    const text = JSON.stringify(pointers)
    if (text === member.told) return
    member.told = text
    connection.sendControl({ type: 'pointers', pointers })
  }

  #tellWhenDrained(member: Member): void {
    if (member.isAwaitingRoom) return
    member.isAwaitingRoom = true
    void member.connection.drained().then(() => {
      member.isAwaitingRoom = false
      if (this.#members.has(member)) this.change()
    })
  }

  #seenBy(viewer: Member): readonly ScreenPointer[] {
    const sessionId = viewer.owner.session_id
    const ghosts = this.#ghosts.shown.filter(
      (ghost) => sessionId === null || ghost.session_id !== sessionId,
    )
    const others = [...this.#members].flatMap(({ id, owner, at }) =>
      at === null || id === viewer.id ? [] : [{ id, ...owner, at, clicked: false }],
    )
    // In an order that does not change while they move.
    return [...others, ...ghosts].slice(-maxPointers).sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}

function isSamePlace(a: ScreenPlace | null, b: ScreenPlace | null): boolean {
  return a?.x === b?.x && a?.y === b?.y
}

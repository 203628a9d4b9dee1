import type { GuestInputEvent, ScreenFromGuest, SessionId } from '@computer/contract'
import type { Lease } from '../../domain/control/leases.ts'
import type { Connection } from '../connection.ts'
import { HeldInput } from './held-input.ts'

/** What a viewer's input needs of the machine's hub. */
export type InputPath = {
  /** Names the stream that input would go through; null while there is none. */
  readonly epoch: number | null
  /** Tells the agent the lease as it is now, and answers it; null if that cannot be done. */
  readonly confirmLease: () => Promise<{ readonly lease: Lease; readonly atMs: number } | null>
  /** False when the agent should be given time: go on after `drained`. */
  readonly send: (fence: number, event: GuestInputEvent) => boolean
  readonly drained: () => Promise<void>
}

type Grant = {
  readonly fence: number
  readonly epoch: number
  untilMs: number
  /** To be confirmed before anything else is sent under it. */
  isDoubtful: boolean
}

/**
 * The input of one socket: passed on while its session holds the lease under the fence that the client
 * named, else dropped (docs/decisions/0009).
 *
 * What is known of the lease is kept, so that passing on costs no look at any row. It is only as good as
 * the agent's refusal: the agent was told the fence under which input goes out, and refuses it once the
 * holding is over. It is asked for anew when the client names a fence, on a new stream, when it has run
 * out and after a refusal; what comes meanwhile waits, in order, and the socket is read no further.
 */
export class ClientInput {
  readonly #sessionId: SessionId
  readonly #connection: Connection
  readonly #path: InputPath
  #held = new HeldInput()
  #named: number | null = null
  /** Nothing up to here is of any use, and the client knows. */
  #lostFence = -1
  #grant: Grant | null = null
  /** Each with the fence that was named when it came. */
  #waiting: { readonly named: number; readonly event: GuestInputEvent }[] = []
  #isConfirming = false
  #isDraining = false
  /** The client named a fence that the row had not got yet. */
  #isAhead = false
  #stops = 0

  constructor(sessionId: SessionId, connection: Connection, path: InputPath) {
    this.#sessionId = sessionId
    this.#connection = connection
    this.#path = path
  }

  /** Its client may be given what is copied inside the machine. */
  get isGranted(): boolean {
    return this.#grant !== null
  }

  /** The client says under which grant it acts from now on. */
  name(fence: number): void {
    this.#named = fence
    this.#isAhead = false
    if (this.#grant) this.#grant.isDoubtful = true
    if (fence > this.#lostFence) this.#confirm()
  }

  /** True if it was passed on or waits for that. */
  take(event: GuestInputEvent): boolean {
    const { epoch } = this.#path
    if (this.#named === null || this.#named <= this.#lostFence || this.#isAhead) return false
    // What is held was let go of with the stream; what comes now belongs to nothing.
    if (epoch === null) return false
    const grant = this.#grant
    if (grant?.epoch === epoch && !grant.isDoubtful && performance.now() < grant.untilMs) {
      this.#send(grant, event)
      return true
    }
    if (grant) grant.isDoubtful = true
    this.#waiting.push({ named: this.#named, event })
    this.#confirm()
    return true
  }

  /** What was seen of the lease. It may have been seen before the client named its fence. */
  judge(lease: Lease, atMs: number): void {
    if (this.#named === null || this.#named <= this.#lostFence) return
    if (lease.fence < this.#named) return
    this.#isAhead = false
    if (!this.#isMine(lease)) this.#lose()
    else if (this.#grant) this.#grant.untilMs = atMs + lease.remainingMs
  }

  refuse({ fence, error }: Extract<ScreenFromGuest, { type: 'refused' }>): void {
    const isFence = error.reason === 'fence_stale' || error.reason === 'fence_unknown'
    if (!isFence || this.#grant?.fence !== fence) return
    this.#grant.isDoubtful = true
    this.#confirm()
  }

  /** Lets go of what it holds pressed: the stream goes on for others. */
  close(): void {
    const grant = this.#grant
    this.#grant = null
    if (!grant || grant.epoch !== this.#path.epoch) return
    for (const event of this.#held.releases()) this.#path.send(grant.fence, event)
  }

  #isMine({ holder, since, fence }: Lease): boolean {
    const named = this.#named
    const isHolder = holder?.sessionId === this.#sessionId
    return isHolder && named !== null && since <= named && named <= fence
  }

  #lose(): void {
    const fence = this.#named!
    this.#lostFence = fence
    this.#grant = null
    this.#held = new HeldInput()
    this.#connection.sendControl({ type: 'lease_lost', fence })
  }

  #confirm(): void {
    if (this.#isConfirming) return
    this.#isConfirming = true
    void this.#stopReading(this.#askForGrant())
  }

  async #askForGrant(): Promise<void> {
    const [named, epoch] = [this.#named, this.#path.epoch]
    const seen = await this.#path.confirmLease()
    this.#isConfirming = false
    if (!this.#connection.isOpen) return
    if (seen && this.#path.epoch !== null) {
      // What was asked for is of no use any more; what waits goes on waiting.
      if (this.#named !== named || this.#path.epoch !== epoch) return this.#confirm()
      this.#use(seen, this.#path.epoch)
    }
    this.#waiting = []
  }

  #use({ lease, atMs }: { readonly lease: Lease; readonly atMs: number }, epoch: number): void {
    this.#isAhead = lease.fence < this.#named!
    if (!this.#isMine(lease)) return this.judge(lease, atMs)
    // With its stream the machine let go of it.
    if (this.#grant?.epoch !== epoch) this.#held = new HeldInput()
    const untilMs = atMs + lease.remainingMs
    this.#grant = { fence: lease.fence, epoch, untilMs, isDoubtful: false }
    for (const { named, event } of this.#waiting) {
      if (named >= lease.since) this.#send(this.#grant, event)
    }
  }

  #send({ fence }: Grant, event: GuestInputEvent): void {
    this.#held.note(event)
    if (this.#path.send(fence, event) || this.#isDraining) return
    this.#isDraining = true
    void this.#stopReading(
      this.#path.drained().then(() => {
        this.#isDraining = false
      }),
    )
  }

  async #stopReading(until: Promise<void>): Promise<void> {
    this.#stops += 1
    this.#connection.pause()
    await until
    this.#stops -= 1
    if (this.#stops === 0) this.#connection.resume()
  }
}

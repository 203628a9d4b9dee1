import {
  ScreenClientMessage,
  type GuestInputEvent,
  type ScreenFromGuest,
  type ScreenPlace,
  type SessionId,
} from '@computer/contract'
import type { Lease } from '../../domain/control/lease-row.ts'
import type { ScreenStream } from '../../guest/screens.ts'
import type { Connection } from '../connection.ts'
import type { AgentStream } from './agent-stream.ts'
import { HeldInput } from './held-input.ts'
import { MessageRate } from './message-rate.ts'

type ClientInputOptions = {
  readonly connection: Connection
  /** Null: view-only, all input is dropped. */
  readonly sessionId: SessionId | null
  /** Names the client in input frames to the agent and in its refusals. */
  readonly viewer: number
  readonly agent: Pick<AgentStream, 'current'>
  /** Called with each place of the client's own pointer, which is not input. */
  readonly onPoint: (at: ScreenPlace | null) => void
  /** Called with each event that is forwarded. */
  readonly onSent: (event: GuestInputEvent) => void
  /** Reads the lease, sends its fences to the agent and returns it; null if that failed. */
  readonly confirmLease: () => Promise<ConfirmedLease | null>
}

export type ConfirmedLease = {
  readonly lease: Lease
  /** When the read began (performance.now). */
  readonly atMs: number
}

/** Permission to send input over one stream to the agent, under a fence that the agent knows. */
type LeaseGrant = {
  readonly fence: number
  readonly stream: ScreenStream
  untilMs: number
  needsConfirmation: boolean
}

/**
 * The input of one connection. It is forwarded while the client's session holds the lease under the
 * fence that the client named, and dropped otherwise (docs/decisions/0009).
 *
 * The lease is cached as a grant, so that forwarding reads no row. The agent stays the guard: it knows
 * the fence that input is sent under and refuses it once the holding is over. The grant is confirmed
 * again when the client names a fence, on a new stream, on expiry and after a refusal. Input that
 * arrives meanwhile waits in order, and the socket is not read.
 */
export class ClientInput {
  readonly #options: ClientInputOptions
  readonly #connection: Connection
  readonly #rate = new MessageRate()
  #held = new HeldInput()
  #namedFence: number | null = null
  /** The client knows that fences up to this one are lost. */
  #lostFence = -1
  #grant: LeaseGrant | null = null
  /** Each event with the fence that was named when it arrived. */
  #waiting: { readonly namedFence: number; readonly event: GuestInputEvent }[] = []
  #isConfirming = false
  #isDraining = false
  /** The client named a fence that the row has not reached yet. */
  #isAhead = false
  #pauses = 0

  constructor(options: ClientInputOptions) {
    this.#options = options
    this.#connection = options.connection
    this.#connection.onControl(ScreenClientMessage, (message) => {
      if (!this.#countMessage()) return
      if (message.type === 'pointer') options.onPoint(message.at)
      else this.#nameFence(message.fence)
    })
  }

  /** Only then may the client see text that is copied inside the machine. */
  get isGranted(): boolean {
    return this.#grant !== null
  }

  /** True if the event was forwarded or waits for confirmation. */
  take(event: GuestInputEvent): boolean {
    if (!this.#countMessage()) return false
    if (this.#namedFence === null || this.#namedFence <= this.#lostFence || this.#isAhead) {
      return false
    }
    const stream = this.#options.agent.current
    // The agent released held keys when its stream ended; input sent in between has no meaning.
    if (!stream) return false
    const grant = this.#grant
    const isCurrent = grant?.stream === stream && performance.now() < grant.untilMs
    if (isCurrent && !grant.needsConfirmation) {
      this.#send(grant, event)
      return true
    }
    if (grant) grant.needsConfirmation = true
    this.#waiting.push({ namedFence: this.#namedFence, event })
    this.#confirm()
    return true
  }

  /** The read of the lease may have begun before the client named its fence. */
  observeLease({ lease, atMs }: ConfirmedLease): void {
    if (this.#namedFence === null || this.#namedFence <= this.#lostFence) return
    if (lease.fence < this.#namedFence) return
    this.#isAhead = false
    if (!this.#isHeldHere(lease)) this.#loseLease()
    else if (this.#grant) this.#grant.untilMs = atMs + lease.remainingMs
  }

  onRefused({ fence, error }: Extract<ScreenFromGuest, { type: 'refused' }>): void {
    const isFence = error.reason === 'fence_stale' || error.reason === 'fence_unknown'
    if (!isFence || this.#grant?.fence !== fence) return
    this.#grant.needsConfirmation = true
    this.#confirm()
  }

  /** Releases held keys and buttons, because the stream goes on for other clients. */
  close(): void {
    const grant = this.#grant
    this.#grant = null
    if (!grant || grant.stream !== this.#options.agent.current) return
    for (const event of this.#held.releases()) this.#write(grant, event)
  }

  /** False once the client has sent too many messages. */
  #countMessage(): boolean {
    if (!this.#connection.isOpen) return false
    if (this.#rate.take()) return true
    this.#connection.close('tooManyMessages', 'too many input messages')
    return false
  }

  #nameFence(fence: number): void {
    if (this.#options.sessionId === null) return
    this.#namedFence = fence
    this.#isAhead = false
    if (this.#grant) this.#grant.needsConfirmation = true
    if (fence > this.#lostFence) this.#confirm()
  }

  #isHeldHere({ holder, since, fence }: Lease): boolean {
    const named = this.#namedFence
    const isHolder = holder?.sessionId === this.#options.sessionId
    return isHolder && named !== null && since <= named && named <= fence
  }

  #loseLease(): void {
    const fence = this.#namedFence!
    this.#lostFence = fence
    this.#grant = null
    this.#held = new HeldInput()
    this.#connection.sendControl({ type: 'lease_lost', fence })
  }

  #confirm(): void {
    if (this.#isConfirming) return
    this.#isConfirming = true
    void this.#pauseUntil(this.#renewGrant())
  }

  async #renewGrant(): Promise<void> {
    const { agent, confirmLease } = this.#options
    const [named, stream] = [this.#namedFence, agent.current]
    const confirmed = await confirmLease()
    this.#isConfirming = false
    if (!this.#connection.isOpen) return
    const { current } = agent
    if (confirmed && current) {
      // The answer is out of date. Waiting input goes on waiting for the next one.
      if (this.#namedFence !== named || current !== stream) return this.#confirm()
      this.#useLease(confirmed, current)
    }
    this.#waiting = []
  }

  #useLease(confirmed: ConfirmedLease, stream: ScreenStream): void {
    const { lease, atMs } = confirmed
    this.#isAhead = lease.fence < this.#namedFence!
    if (!this.#isHeldHere(lease)) return this.observeLease(confirmed)
    // The agent released everything when the previous stream ended.
    if (this.#grant?.stream !== stream) this.#held = new HeldInput()
    const untilMs = atMs + lease.remainingMs
    this.#grant = { fence: lease.fence, stream, untilMs, needsConfirmation: false }
    for (const { namedFence, event } of this.#waiting) {
      if (namedFence >= lease.since) this.#send(this.#grant, event)
    }
  }

  #send(grant: LeaseGrant, event: GuestInputEvent): void {
    this.#held.note(event)
    this.#options.onSent(event)
    if (this.#write(grant, event) || this.#isDraining) return
    this.#isDraining = true
    void this.#pauseUntil(
      grant.stream.drained().then(() => {
        this.#isDraining = false
      }),
    )
  }

  #write({ stream, fence }: LeaseGrant, event: GuestInputEvent): boolean {
    return stream.send({ type: 'input', viewer: this.#options.viewer, fence, event })
  }

  async #pauseUntil(done: Promise<void>): Promise<void> {
    this.#pauses += 1
    this.#connection.pause()
    await done
    this.#pauses -= 1
    if (this.#pauses === 0) this.#connection.resume()
  }
}

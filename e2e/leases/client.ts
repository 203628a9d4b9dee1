import { setTimeout as pause } from 'node:timers/promises'
import type { Answer } from '../../server/test/call.ts'
import type { Random } from '../harness/random.ts'
import {
  characterOf,
  inputsPerClient,
  pointOf,
  stampOf,
  stepsPerInput,
  type History,
  type Input,
} from './history.ts'
import type { Machine } from './machine.ts'

/**
 * One client of a history. It asks for the lease, renews and releases it, pauses, and sends input
 * whether it still has the lease or only believes so: it never looks. What it sends it does not wait
 * for, so that its input is still on its way when the lease is another's.
 */
export class LeaseClient {
  readonly usesSocket: boolean
  readonly #machine: Machine
  readonly #history: History
  readonly #random: Random
  readonly #client: number
  readonly #pending = new Set<Promise<void>>()
  #numbers = 0
  #texts = 0
  /** Of the last grant that it was given. */
  #fence: number | null = null

  constructor(machine: Machine, history: History, client: number, random: Random) {
    this.#machine = machine
    this.#history = history
    this.#client = client
    this.#random = random
    this.usesSocket = client >= httpClients
  }

  /** Does one thing, and waits for it unless it is input. */
  async act(): Promise<void> {
    // Without ever a grant there is little to be seen: its input is refused at once.
    if (this.#fence === null && this.#random.below(4) > 0) {
      await this.acquire(this.#random.below(2) === 0)
      return
    }
    await this.#random
      .pickWeighted([
        { weight: 2, act: () => this.acquire(false) },
        { weight: 2, act: () => this.acquire(true) },
        { weight: 1, act: () => this.release() },
        { weight: 1, act: () => pause(this.#random.below(longestPauseMs)) },
        { weight: 8, act: () => this.#sendSomething() },
      ])
      .act()
  }

  async acquire(force: boolean): Promise<Answer> {
    const sentAt = this.#machine.clock.tick()
    const answer = await this.#call('POST', this.#path('input-lease'), {
      session_id: this.#sessionId,
      ttl_seconds: 600,
      force,
    })
    const settledAt = await this.#machine.recorder.mark()
    const client = this.#client
    if (answer.status === 200) {
      const { fence, acquired_at: holding } = answer.body
      this.#fence = fence
      this.#history.grants.push({ client, fence, holding, sentAt, settledAt })
    } else {
      const refusedAt = isRefusal(answer) ? settledAt : null
      this.#history.attempts.push({ client, sentAt, refusedAt })
    }
    return answer
  }

  async release(): Promise<void> {
    const sentAt = this.#machine.clock.tick()
    const path = this.#path(`input-lease?session_id=${this.#sessionId}`)
    const { status } = await this.#call('DELETE', path)
    const settledAt = await this.#machine.recorder.mark()
    if (status === 200) this.#history.releases.push({ client: this.#client, sentAt, settledAt })
  }

  /** Resolves when all that it sent over HTTP has been answered. */
  async answered(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** Over HTTP, and waits for the answer. */
  async send(kind: Input['kind'], wish: { readonly mustLand?: boolean } = {}): Promise<void> {
    const isPinned = this.#fence !== null && this.#random.below(3) === 0
    const input = this.#note(kind, 'http', isPinned ? this.#fence : null, wish)
    const { path, body } = this.#describe(input)
    const answer = await this.#call('POST', this.#path(path), body, {
      'x-session-id': this.#sessionId,
      ...(input.fence !== null && { 'x-input-fence': String(input.fence) }),
    })
    input.settledAt = await this.#machine.recorder.mark()
    if (answer.status === 200) {
      input.outcome = 'done'
      return
    }
    input.error = answer.body?.error.message
    if (!isRefusal(answer)) {
      // What became of it is not known: it may still land.
      input.settledAt = null
      return
    }
    input.outcome = 'refused'
    // It believes that, or goes on as if nothing had happened.
    if (this.#random.below(2) === 0) this.#fence = null
  }

  /** Over its screen socket, under the newest grant; nothing answers. */
  async sendOverSocket(
    kind: 'move' | 'type',
    wish: { readonly mustLand?: boolean } = {},
  ): Promise<void> {
    const socket = await this.#machine.gateway.socketOf(this.#sessionId)
    if (this.#fence === null) return
    if (socket.named !== this.#fence) socket.nameFence(this.#fence)
    const input = this.#note(kind, 'socket', this.#fence, wish)
    if (kind === 'type') return socket.strike(input.character)
    const { x, y } = this.#pointOf(input)
    socket.pointer(x, y)
  }

  async #sendSomething(): Promise<void> {
    if (this.#numbers > inputsPerClient - 10) return
    if (this.usesSocket && this.#random.below(4) > 0) {
      for (let count = 1 + this.#random.below(4); count > 0; count--) {
        // The gateway may restart just then.
        await this.sendOverSocket(this.#random.pick(['move', 'move', 'type'])).catch(() => {})
      }
      return
    }
    const kind = this.#random.pick(['move', 'move', 'click', 'drag', 'type'] as const)
    const sending = this.send(kind).then(() => void this.#pending.delete(sending))
    this.#pending.add(sending)
    if (this.#pending.size > mostPending || this.#random.below(3) === 0) await sending
  }

  #note(
    kind: Input['kind'],
    way: Input['way'],
    fence: number | null,
    wish: { readonly mustLand?: boolean },
  ): Input {
    const input: Input = {
      client: this.#client,
      number: this.#numbers++,
      fence,
      way,
      kind,
      character: kind === 'type' ? characterOf(this.#client, this.#texts++) : '',
      events: way === 'socket' ? 1 : eventsOf[kind],
      sentAt: this.#machine.clock.tick(),
      ...wish,
      outcome: 'unknown',
      settledAt: null,
    }
    this.#history.inputs.push(input)
    return input
  }

  #describe(input: Input): { path: string; body: object } {
    const at = this.#pointOf(input)
    switch (input.kind) {
      case 'move':
        return { path: 'mouse/move', body: at }
      case 'click':
        return { path: 'mouse/click', body: { at } }
      case 'drag': {
        const steps = stepsPerInput - 1
        return { path: 'mouse/drag', body: { from: at, to: { x: at.x, y: at.y + steps }, steps } }
      }
      case 'type': {
        const text = input.character.repeat(eventsOf.type)
        return { path: 'keyboard/type', body: { text, delay_ms: this.#random.below(4) } }
      }
    }
  }

  #pointOf({ client, number, fence }: Input) {
    return pointOf({ client, number, stamp: stampOf(fence ?? this.#fence ?? 0) })
  }

  #call(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    return this.#random.pick(this.#machine.calls)(method, path, body, headers)
  }

  #path(rest: string): string {
    return `/v1/machines/${this.#machine.id}/${rest}`
  }

  get #sessionId(): string {
    return this.#machine.sessions[this.#client]!
  }
}

/** The others send most of their input over a socket. */
const httpClients = 3
/** A motion to the first point and the press of a button come before the steps of a drag. */
const eventsOf = { move: 1, click: 2, drag: stepsPerInput + 1, type: 5 } as const
const longestPauseMs = 30
const mostPending = 3

/** Nothing of it happens any more. */
function isRefusal({ status }: Answer): boolean {
  return status >= 400 && status < 500
}

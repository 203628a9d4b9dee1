import type { InputLease } from '@computer/contract'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, Call } from '../../server/test/call.ts'
import type { Random } from '../harness/random.ts'
import { HelpPlayer } from './help.ts'
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
 * One client of a history. It acquires, renews and releases the lease, pauses, and sends input without
 * checking that it still holds the lease. It does not wait for its input, so that input is still in flight
 * when another client takes the lease.
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
  /** The fence of its last grant. */
  #fence: number | null = null
  readonly #help: HelpPlayer
  /** The session that its last take of a help request opened, while that was its last grant. */
  #helpSession: string | null = null

  constructor(machine: Machine, history: History, client: number, random: Random) {
    this.#machine = machine
    this.#history = history
    this.#client = client
    this.#random = random
    this.usesSocket = client >= httpClients
    const call: Call = (...request) => this.#random.pick(machine.calls)(...request)
    this.#help = new HelpPlayer(machine, random, call)
  }

  /** Takes one action, and waits for it unless it is input. */
  async act(): Promise<void> {
    // Without a grant all input is refused, so mostly acquire first.
    if (this.#fence === null && this.#random.below(4) > 0) {
      await this.acquire(this.#random.below(2) === 0)
      return
    }
    await this.#random
      .pickWeighted([
        { weight: 2, act: () => this.acquire(false) },
        { weight: 2, act: () => this.acquire(true) },
        { weight: this.#isHelper ? 3 : 0, act: () => this.#takeHelp() },
        { weight: 1, act: () => this.release() },
        { weight: 1, act: () => delay(this.#random.below(longestPauseMs)) },
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
    await this.#noteGrant(answer, answer.body, { sentAt, isHelp: false })
    return answer
  }

  /** Asks for help and takes the machine as the person who helps. */
  async #takeHelp(): Promise<void> {
    await this.endHelp()
    const sentAt = this.#machine.clock.tick()
    // A guest sends input over a socket alone.
    const { answer, helper } = await this.#help.take(this.usesSocket)
    if (helper) this.#helpSession = helper.sessionId
    await this.#noteGrant(answer, helper?.lease, { sentAt, isHelp: true })
  }

  async #noteGrant(
    answer: Answer,
    lease: Pick<InputLease, 'fence' | 'acquired_at'> | undefined,
    { sentAt, isHelp }: { readonly sentAt: number; readonly isHelp: boolean },
  ): Promise<void> {
    const settledAt = await this.#machine.recorder.mark()
    const client = this.#client
    if (answer.status === 200 && lease) {
      const { fence } = lease
      const holding = lease.acquired_at!
      this.#fence = fence
      this.#history.grants.push({ client, fence, holding, isHelp, sentAt, settledAt })
    } else {
      const refusedAt = isRefusal(answer) ? settledAt : null
      this.#history.attempts.push({ client, sentAt, refusedAt })
    }
  }

  /** Ends its help request, if it has one, and with it the holding of the person who helps. */
  async endHelp(): Promise<void> {
    const wasHelping = this.#helpSession !== null
    this.#helpSession = null
    const sentAt = this.#machine.clock.tick()
    const hasEnded = await this.#help.end()
    const settledAt = await this.#machine.recorder.mark()
    if (hasEnded && wasHelping) {
      this.#history.releases.push({ client: this.#client, sentAt, settledAt })
    }
  }

  async release(): Promise<void> {
    if (this.#helpSession !== null) return this.endHelp()
    const sentAt = this.#machine.clock.tick()
    const path = this.#path(`input-lease?session_id=${this.#sessionId}`)
    const { status } = await this.#call('DELETE', path)
    const settledAt = await this.#machine.recorder.mark()
    if (status === 200) this.#history.releases.push({ client: this.#client, sentAt, settledAt })
  }

  /** Resolves when all input over HTTP has been answered. */
  async waitForAnswers(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** Sends an input over HTTP and waits for the answer. */
  async send(kind: Input['kind'], options: SendOptions = {}): Promise<void> {
    const isPinned = this.#fence !== null && this.#random.below(3) === 0
    const input = this.#record(kind, 'http', isPinned ? this.#fence : null, options)
    const { path, body } = this.#toCall(input)
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
      // The outcome is unknown: the input may still land.
      input.settledAt = null
      return
    }
    input.outcome = 'refused'
    // Half of the time the client ignores that it lost the lease.
    if (this.#random.below(2) === 0) this.#fence = null
  }

  /** Sends an input over the screen socket under its last grant. There is no answer. */
  async sendOverSocket(kind: 'move' | 'type', options: SendOptions = {}): Promise<void> {
    if (this.#fence === null) return
    const { gateway } = this.#machine
    const socket = options.mustLand
      ? await gateway.settledSocketOf(this.#sessionId, this.#fence)
      : await gateway.socketOf(this.#sessionId)
    if (socket.fence !== this.#fence) socket.declareFence(this.#fence)
    const input = this.#record(kind, 'socket', this.#fence, options)
    if (kind === 'type') return socket.press(input.character)
    const { x, y } = this.#pointOf(input)
    socket.pointer(x, y)
  }

  async #sendSomething(): Promise<void> {
    if (this.#numbers > inputsPerClient - 10) return
    if (this.usesSocket && this.#random.below(4) > 0) {
      for (let count = 1 + this.#random.below(4); count > 0; count--) {
        // The gateway may be restarting.
        await this.sendOverSocket(this.#random.pick(['move', 'move', 'type'])).catch(() => {})
      }
      return
    }
    const kind = this.#random.pick(['move', 'move', 'click', 'drag', 'type'] as const)
    const sending = this.send(kind).then(() => void this.#pending.delete(sending))
    this.#pending.add(sending)
    if (this.#pending.size > maxPending || this.#random.below(3) === 0) await sending
  }

  #record(
    kind: Input['kind'],
    way: Input['way'],
    fence: number | null,
    options: SendOptions,
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
      ...options,
      outcome: 'unknown',
      settledAt: null,
    }
    this.#history.inputs.push(input)
    return input
  }

  #toCall(input: Input): { path: string; body: object } {
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
    return this.#helpSession ?? this.#machine.sessions[this.#client]!
  }

  /** One over HTTP and one with a socket. */
  get #isHelper(): boolean {
    return this.#client === 0 || this.#client === httpClients
  }
}

/** The other clients send most of their input over a socket. */
const httpClients = 3
/** The events of each input over HTTP. A drag starts with a motion and a button press. */
const eventsOf = { move: 1, click: 2, drag: stepsPerInput + 1, type: 5 } as const
const longestPauseMs = 30
const maxPending = 3

type SendOptions = { readonly mustLand?: boolean }

/** Whether the call had no effect and will have none. */
function isRefusal({ status }: Answer): boolean {
  return status >= 400 && status < 500
}

import type { InputLease } from '@computer/contract'
import { ownOrigin } from '../../server/test/browser.ts'
import type { Answer, Call } from '../../server/test/call.ts'
import type { Random } from '../harness/random.ts'
import type { Machine } from './machine.ts'

/** The person who helps, if the take was answered with a grant. */
export type Helper = { readonly sessionId: string; readonly lease: InputLease }

/**
 * The help requests of one client of a history. It asks for help and takes the machine itself, with its key or as the
 * guest of the takeover link, and in half of the cases with a private screen, which closes the sockets of all others. It
 * hands the machine back, leaves it or cancels.
 */
export class HelpPlayer {
  readonly #machine: Machine
  readonly #random: Random
  readonly #call: Call
  #requestId: string | null = null
  /** The cookie of the guest; null for one who helps with the key. */
  #cookie: string | null = null

  constructor(machine: Machine, random: Random, call: Call) {
    this.#machine = machine
    this.#random = random
    this.#call = call
  }

  /** The answer to the take, or to what came before if that was refused. */
  async take(
    asGuest: boolean,
  ): Promise<{ readonly answer: Answer; readonly helper: Helper | null }> {
    await this.end()
    const reason = this.#random.pick(['login', 'question'])
    const path = `/v1/machines/${this.#machine.id}/help-requests`
    const asked = await this.#call('POST', path, { reason, message: 'Please help.' })
    if (asked.status !== 201) return { answer: asked, helper: null }
    this.#requestId = asked.body.id
    return asGuest ? this.#takeAsGuest(asked.body.takeover_url) : this.#takeWithKey()
  }

  /** Resolves to whether the request has ended by this call. */
  async end(): Promise<boolean> {
    if (this.#requestId === null) return false
    const path = `/v1/help-requests/${this.#requestId}`
    const way = this.#random.pick(['answer', 'release', 'cancel'] as const)
    const body = way === 'answer' ? { outcome: 'done' } : undefined
    const { status } =
      this.#cookie !== null && way !== 'cancel'
        ? await this.#callAsGuest(way, body)
        : await this.#call('POST', `${path}/${way}`, body)
    // What was left, or could not be answered because somebody took the lease, is not waited for any more.
    if (way === 'release' || status !== 200) await this.#call('POST', `${path}/cancel`)
    this.#requestId = null
    this.#cookie = null
    return status === 200
  }

  async #takeWithKey() {
    const answer = await this.#call('POST', `/v1/help-requests/${this.#requestId}/take`)
    const { session, lease } = answer.body ?? {}
    return { answer, helper: answer.status === 200 ? { sessionId: session.id, lease } : null }
  }

  async #takeAsGuest(takeoverUrl: string) {
    const token = new URL(takeoverUrl).hash.slice(1)
    const redeemed = await this.#callAsGuest('redeem', { token })
    const [cookie] = [redeemed.headers['set-cookie']].flat() as (string | undefined)[]
    if (cookie === undefined) return { answer: redeemed, helper: null }
    this.#cookie = cookie.split(';', 1)[0]!
    const answer = await this.#callAsGuest('take', { name: 'Ada' })
    if (answer.status !== 200) return { answer, helper: null }
    const { session_id: sessionId, lease } = answer.body
    this.#machine.gateway.admitGuest(sessionId, this.#cookie)
    return { answer, helper: { sessionId, lease } }
  }

  #callAsGuest(action: string, body?: object): Promise<Answer> {
    const headers = { origin: ownOrigin, ...(this.#cookie !== null && { cookie: this.#cookie }) }
    const call = this.#random.pick(this.#machine.browsers)
    return call('POST', `/v1/help-guest/${action}`, body, headers)
  }
}

import type { Answer, Call } from '../../server/test/call.ts'
import type { Random } from '../harness/random.ts'
import type { Machine } from './machine.ts'

/**
 * The help requests of one client of a history. It asks for help and takes the machine itself, in half of the cases with
 * a private screen, which closes the sockets of all others. It hands the machine back, leaves it or cancels.
 */
export class HelpPlayer {
  readonly #machine: Machine
  readonly #random: Random
  readonly #call: Call
  #requestId: string | null = null

  constructor(machine: Machine, random: Random, call: Call) {
    this.#machine = machine
    this.#random = random
    this.#call = call
  }

  /** The answer to the take, or to what came before if that was refused. */
  async take(): Promise<Answer> {
    await this.end()
    const reason = this.#random.pick(['login', 'question'])
    const path = `/v1/machines/${this.#machine.id}/help-requests`
    const asked = await this.#call('POST', path, { reason, message: 'Please help.' })
    if (asked.status !== 201) return asked
    this.#requestId = asked.body.id
    return this.#call('POST', `/v1/help-requests/${this.#requestId}/take`)
  }

  /** Resolves to whether the request has ended by this call. */
  async end(): Promise<boolean> {
    if (this.#requestId === null) return false
    const path = `/v1/help-requests/${this.#requestId}`
    const way = this.#random.pick(['answer', 'release', 'cancel'] as const)
    const body = way === 'answer' ? { outcome: 'done' } : undefined
    const { status } = await this.#call('POST', `${path}/${way}`, body)
    // What was left, or could not be answered because somebody took the lease, is not waited for any more.
    if (way === 'release' || status !== 200) await this.#call('POST', `${path}/cancel`)
    this.#requestId = null
    return status === 200
  }
}

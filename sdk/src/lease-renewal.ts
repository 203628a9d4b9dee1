import type { Client } from './client.ts'
import { releaseLease, requestLease, type LeaseGrant } from './lease.ts'

type Outcomes = {
  readonly onRenewed: (grant: LeaseGrant) => void
  readonly onLost: () => void
}

/** Renews the input lease of one machine at half its lifetime, until that fails or is stopped. */
export class LeaseRenewal {
  readonly #client: Client
  readonly #machineId: string
  readonly #outcomes: Outcomes
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: Client, machineId: string, outcomes: Outcomes) {
    this.#client = client
    this.#machineId = machineId
    this.#outcomes = outcomes
  }

  start(grant: LeaseGrant): void {
    this.stop()
    this.#timer = setTimeout(() => void this.#renew(grant), grant.ttlSeconds * 500)
    // Do not keep the process alive for a renewal.
    ;(this.#timer as { unref?: () => void }).unref?.()
  }

  /** A renewal that is under way has no outcome any more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #renew(grant: LeaseGrant): Promise<void> {
    const { sessionId, ttlSeconds } = grant
    const timer = this.#timer
    try {
      const remainingMs = grant.expiresAt - Date.now()
      if (remainingMs <= 0) return this.#outcomes.onLost()
      const signal = AbortSignal.timeout(remainingMs)
      const request = { force: false, ttlSeconds }
      const renewed = await requestLease(this.#client, this.#machineId, sessionId, request, signal)
      if (this.#timer !== timer) return
      if (renewed.lease.acquiredAt === grant.lease.acquiredAt)
        return this.#outcomes.onRenewed(renewed)
      // The old lease had expired, so this is a new one that was not requested: release it.
      this.#outcomes.onLost()
      await releaseLease(this.#client, this.#machineId, sessionId)
    } catch {
      if (this.#timer === timer) this.#outcomes.onLost()
    }
  }
}

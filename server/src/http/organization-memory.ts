import type { OrganizationId } from '@computer/contract'
import type { FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the caller is authenticated. */
    organizationId?: OrganizationId
  }
}

/** What the callers of one organization may hold, so that the others have the rest. */
export class OrganizationMemory {
  readonly #maxBytes: number
  readonly #held = new Map<OrganizationId, number>()
  readonly #heldBy = new WeakMap<ServerResponse, number>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Takes memory until the response to the request has left or its connection is closed. False if the
   * organization has no room for it; one request alone always has. Callers without one are unlimited.
   */
  take({ organizationId }: FastifyRequest, bytes: number, response: ServerResponse): boolean {
    if (organizationId === undefined) return true
    const all = this.#held.get(organizationId) ?? 0
    const own = this.#heldBy.get(response) ?? 0
    if (all > own && all + bytes > this.#maxBytes) return false
    this.#held.set(organizationId, all + bytes)
    this.#heldBy.set(response, own + bytes)
    if (own === 0) response.once('close', () => this.#release(organizationId, response))
    return true
  }

  #release(organizationId: OrganizationId, response: ServerResponse): void {
    const left = this.#held.get(organizationId)! - this.#heldBy.get(response)!
    if (left === 0) this.#held.delete(organizationId)
    else this.#held.set(organizationId, left)
  }
}

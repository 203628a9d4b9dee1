import type { Actor } from '../src/actor.ts'
import { sql } from 'kysely'
import type { Answer, Call, TestServer } from './harness.ts'
import { givePlan } from './plans.ts'

/** Calls of the invitation endpoints. */
export function invitationCalls(server: TestServer) {
  const calls = new Map<Actor, Call>()
  const as = (actor: Actor): Call => {
    const call = calls.get(actor) ?? server.as(actor)
    calls.set(actor, call)
    return call
  }
  return {
    invite(
      actor: Actor,
      email: string,
      options: object = {},
      headers?: Record<string, string>,
    ): Promise<Answer> {
      return as(actor)('POST', '/v1/invitations', { email, ...options }, headers)
    },
    list(actor: Actor, query = ''): Promise<Answer> {
      return as(actor)('GET', `/v1/invitations?${query}`)
    },
    revoke(actor: Actor, id: string): Promise<Answer> {
      return as(actor)('DELETE', `/v1/invitations/${id}`)
    },
    accept(actor: Actor, token: string): Promise<Answer> {
      return as(actor)('POST', '/v1/invitations/accept', { token })
    },
    /** Without a credential. */
    lookUp(token: string): Promise<Answer> {
      return server.anonymous('POST', '/v1/invitations/lookup', { token })
    },
    async expire(id: string): Promise<void> {
      await server.app.db
        .updateTable('invitations')
        .set({ expires_at: sql`now()` })
        .where('id', '=', id as `inv_${string}`)
        .execute()
    },
    /** The owner of an organization with two places. */
    async smallOwner(): Promise<Actor> {
      const owner = await server.user('owner', 'stranger')
      await givePlan(server.app.db, { planId: 'free' }, owner.organizationId)
      return owner
    },
  }
}

export function tokenOf({ accept_url }: { accept_url: string }): string {
  return accept_url.split('#token=')[1]!
}

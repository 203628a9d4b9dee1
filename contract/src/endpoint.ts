import type { z } from 'zod'
import type { AuditEventType } from './audit-event-types.ts'
import type { Permission } from './permissions.ts'

/** One route of the wire, as data: the server mounts it, OpenAPI and the clients are made from it. */
export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/v1/${string}`
  readonly summary: string
  /**
   * `public`: nobody in particular. `user`: a person who is signed in, no API key. `member`: any
   * member of the organization, by key or signed in. Anything else: that permission.
   */
  readonly requires: 'public' | 'user' | 'member' | Permission
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** Request headers the endpoint reads, in lower case. Others are none of its business. */
  readonly headers?: z.ZodType
  readonly status: 200 | 201 | 202 | 204
  /** Some calls are done at once where `status` says that the work goes on, or the other way round. */
  readonly alsoStatus?: 200 | 201
  readonly response: z.ZodType
  /** A POST that creates something takes an idempotency-key. */
  readonly creates?: boolean
  /** Content type the answer also comes in as bytes, when the caller's accept header asks for it. */
  readonly bytes?: 'application/octet-stream' | 'image/*'
  /** The query of the other form of the call, whose body is bytes (application/octet-stream). */
  readonly uploads?: z.ZodType
  /** The audit log keeps calls of it that were refused; those that succeed are noted with the change. */
  readonly audits?: AuditEventType
}

export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

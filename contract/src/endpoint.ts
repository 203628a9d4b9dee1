import type { z } from 'zod'
import type { AuditEventType } from './audit-event-types.ts'
import type { Permission } from './permissions.ts'

/** One route as data: the server mounts it; OpenAPI and the SDK's types are generated from it. */
export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/v1/${string}`
  readonly summary: string
  /**
   * `public`: no credential. `guest`: the guest of a help request, by its cookie. `user`: a signed-in person, not an
   * API key. `member`: any member of the organization, signed in or by API key. Anything else: that permission.
   */
  readonly requires: 'public' | 'guest' | 'user' | 'member' | Permission
  /** Query parameters that require a permission of their own in addition. */
  readonly queryRequires?: Readonly<Record<string, Permission>>
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** The most bytes of a JSON body, where `bodyLimitOf` gives too little for what the schema allows. */
  readonly bodyLimit?: number
  /** Request headers that the endpoint reads, in lower case. Others are ignored. */
  readonly headers?: z.ZodType
  readonly status: 200 | 201 | 202 | 204
  /** A second success status, where the same call may complete at once or continue later. */
  readonly alsoStatus?: 200 | 201
  readonly response: z.ZodType
  /** A POST that creates a resource accepts an idempotency-key. */
  readonly creates?: boolean
  /** Content type of the raw response that the caller may request with the accept header. */
  readonly bytes?: 'application/octet-stream' | 'application/x-tar' | 'image/*'
  /** The raw response is the only one, whatever the accept header. */
  readonly onlyBytes?: true
  /** Content types of a response that is text and not JSON. */
  readonly textTypes?: readonly string[]
  /** Headers of the raw response, each with its description. */
  readonly bytesHeaders?: Readonly<Record<string, string>>
  /** Query of the upload form of the call, which is its only form if there is no `body`. */
  readonly uploads?: z.ZodType
  /** Content type of an upload. By default it is application/octet-stream. */
  readonly uploadType?: UploadType
  /** Refused calls are audited as this type. Successful ones are audited with the change itself. */
  readonly audits?: AuditEventType
}

export const uploadTypes = ['application/octet-stream', 'application/x-tar'] as const
export type UploadType = (typeof uploadTypes)[number]

export function uploadTypeOf({ uploadType }: Pick<Endpoint, 'uploadType'>): UploadType {
  return uploadType ?? 'application/octet-stream'
}

const kib = 1024
const mib = 1024 * kib

/** For bodies with text of up to 4 MiB, in base64 or with escapes. */
export const largeBodyLimit = 8 * mib

/** The most bytes of a JSON body. Anybody may send one to a public endpoint, and a guest is nearly anybody. */
export function bodyLimitOf({ requires, bodyLimit }: Endpoint): number {
  return bodyLimit ?? (requires === 'public' || requires === 'guest' ? 64 * kib : mib)
}

/** The path of the same operation without the version, which operations on one machine have. */
export function aliasOf(path: Endpoint['path']): string | null {
  return path.startsWith('/v1/machines/{machine_id}/') ? path.slice('/v1'.length) : null
}

/** Such as `64 KiB`. */
export function showBodyLimit(bytes: number): string {
  return bytes < mib ? `${bytes / kib} KiB` : `${bytes / mib} MiB`
}

export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

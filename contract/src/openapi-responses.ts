import type { Endpoint } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import type { JsonSchema, SchemaCatalog } from './openapi-schemas.ts'

/* The responses of an OpenAPI document. */

export type OpenApiContent = Readonly<Record<string, { readonly schema: JsonSchema }>>
export type OpenApiResponse = {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: OpenApiContent
}

export const responseHeaders = {
  RequestId: {
    description: 'The id of this request, to quote in reports.',
    schema: { type: 'string' },
  },
  IdempotentReplayed: {
    description: 'true if this is the stored response of an earlier call with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  RetryAfter: {
    description: 'The same call may succeed after this many seconds. Absent if it cannot.',
    schema: { type: 'integer' },
  },
  ContentRange: {
    description: 'The range and the size of the file: bytes FIRST-LAST/SIZE, or bytes */SIZE.',
    schema: { type: 'string' },
  },
} as const

const errorDescriptions: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'The request is malformed or a field is invalid; see details.',
  unauthenticated: 'The credential is missing or invalid.',
  quota_exceeded: 'A limit of the plan is exceeded; see quota.',
  permission_denied: 'The caller lacks a permission or a scope.',
  not_found: 'The resource does not exist.',
  conflict: 'The current state of the resource does not allow the call.',
  precondition_failed: 'Another step is required first, such as starting the machine.',
  rate_limited:
    'Too many attempts, or too many sign-ins at once. Retry after the seconds in retry-after.',
  internal_error: 'The server failed to handle the request.',
  unsupported_operation: 'This server is not configured for the operation.',
  compute_unavailable:
    'The machine or its desktop is not available. Retry if retry-after is present.',
}

export function success(
  catalog: SchemaCatalog,
  id: string,
  endpoint: Endpoint,
  status: number,
): OpenApiResponse {
  const headers = {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    ...(endpoint.creates && {
      'idempotent-replayed': { $ref: '#/components/headers/IdempotentReplayed' },
    }),
    ...Object.fromEntries(
      Object.entries(endpoint.bytesHeaders ?? {}).map(([name, description]) => [
        name,
        { description, schema: { type: 'string' } },
      ]),
    ),
  }
  const description =
    status === 202 ? 'Accepted. The work continues in the background.' : 'Success.'
  if (endpoint.status === 204) return { description, headers }
  if (endpoint.textTypes) {
    const types = endpoint.textTypes.map((type) => [type, { schema: { type: 'string' } }] as const)
    return { description, headers, content: Object.fromEntries(types) }
  }
  const content = {
    ...(!endpoint.onlyBytes && {
      'application/json': { schema: catalog.get(`${id} response`) },
    }),
    ...(endpoint.bytes && { [endpoint.bytes]: { schema: {} } }),
  }
  return { description, headers, content }
}

/** The responses to the headers range and if-none-match, of endpoints that read them. */
export function conditionalResponses(
  catalog: SchemaCatalog,
  id: string,
): Record<string, OpenApiResponse> {
  const reads = catalog.properties(`${id} headers`).map(({ name }) => name)
  return {
    ...(reads.includes('range') && rangeResponses(catalog)),
    ...(reads.includes('if-none-match') && {
      304: {
        description: 'The bytes would be those that if-none-match names. No body.',
        headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
      },
    }),
  }
}

function rangeResponses(catalog: SchemaCatalog): Record<string, OpenApiResponse> {
  const headers = {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    'content-range': { $ref: '#/components/headers/ContentRange' },
  }
  const error = { 'application/json': { schema: catalog.get('error') } }
  return {
    206: {
      description: 'The requested range of the bytes.',
      headers,
      content: { 'application/octet-stream': { schema: {} } },
    },
    416: {
      description: '`invalid_request`: The range begins past the end of the file.',
      headers,
      content: error,
    },
  }
}

export function errorResponses(catalog: SchemaCatalog): Record<string, OpenApiResponse> {
  const headers = {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    'retry-after': { $ref: '#/components/headers/RetryAfter' },
  }
  const content = { 'application/json': { schema: catalog.get('error') } }
  return Object.fromEntries(
    Object.entries(errorDescriptions).map(([code, description]) => [
      code,
      { description: `\`${code}\`: ${description}`, headers, content },
    ]),
  )
}

import {
  endpoints,
  ErrorEnvelope,
  errorStatus,
  uploadTypeOf,
  type Endpoint,
} from '@computer/contract'
import assert from 'node:assert/strict'
import type { Answer, Call } from './call.ts'
import type { EndpointRequest, prepareRequests } from './endpoint-requests.ts'

type Requests = Awaited<ReturnType<typeof prepareRequests>>

export type NamedEndpoint = { readonly name: string; readonly endpoint: Endpoint }

/** Every endpoint of the contract. */
export const allEndpoints: readonly NamedEndpoint[] = Object.entries(endpoints).flatMap(
  ([group, members]) =>
    Object.entries(members).map(([name, endpoint]) => ({ name: `${group}.${name}`, endpoint })),
)

/** The same, each with a function that prepares a valid call. */
export function withRequests(requests: Requests) {
  return allEndpoints.map((one) => {
    const [group, name] = one.name.split('.') as [keyof Requests, string]
    const prepare = (requests[group] as Record<string, () => Promise<EndpointRequest>>)[name]!
    return { ...one, prepare }
  })
}

/** An invalid request: how it is refused shows whether the caller is authorized. */
export const invalidRequest: EndpointRequest = {
  query: 'unknown_parameter=1',
  ids: Object.fromEntries(
    allEndpoints
      .flatMap(({ endpoint }) => endpoint.path.match(/(?<=\{)\w+/g) ?? [])
      .map((name) => [name, '0'.repeat(26)]),
  ),
}

export function send(
  call: Call,
  endpoint: Endpoint,
  request: EndpointRequest,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isUpload = Buffer.isBuffer(request.body)
  const type = isUpload && { 'content-type': uploadTypeOf(endpoint) }
  return call(endpoint.method, pathOf(endpoint, request), request.body, { ...type, ...headers })
}

export function pathOf(
  { path }: Pick<Endpoint, 'path'>,
  { ids = {}, query }: EndpointRequest,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name]!)
  return query ? `${filled}?${query}` : filled
}

export function assertRefused(
  answer: Pick<Answer, 'status' | 'body'>,
  code: keyof typeof errorStatus,
  what: string,
): void {
  const { error } = ErrorEnvelope.strict().parse(answer.body)
  assert.deepEqual([answer.status, error.code], [errorStatus[code], code], what)
}

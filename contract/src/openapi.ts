import type { z } from 'zod'
import { aliasOf, bodyLimitOf, showBodyLimit, uploadTypeOf, type Endpoint } from './endpoint.ts'
import { ErrorEnvelope, errorStatus } from './errors.ts'
import {
  conditionalResponses,
  errorResponses,
  responseHeaders,
  success,
  type OpenApiContent,
  type OpenApiResponse,
} from './openapi-responses.ts'
import {
  toSchemas,
  type JsonSchema,
  type SchemaCatalog,
  type SchemaParts,
} from './openapi-schemas.ts'
import { text } from './text.ts'

export type { JsonSchema } from './openapi-schemas.ts'

/** Endpoints by resource. The resource is the tag. */
type EndpointGroups = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>

export type OpenApiParameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
  readonly style?: 'deepObject'
  readonly explode?: true
}
type OpenApiReference = { readonly $ref: string }
export type OpenApiOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly 'x-requires': Endpoint['requires']
  /** Another path of the same operation. */
  readonly 'x-alias'?: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly OpenApiParameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly description: string
    readonly content: OpenApiContent
  }
  readonly responses: Readonly<Record<string, OpenApiResponse | OpenApiReference>>
}
export type OpenApiDocument = {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>
    readonly headers: Readonly<Record<string, unknown>>
    readonly responses: Readonly<Record<string, OpenApiResponse>>
    readonly schemas: Readonly<Record<string, JsonSchema>>
  }
}

/** The OpenAPI document, derived from the endpoints alone. */
export function openApiDocument(
  groups: EndpointGroups,
  { version, url }: { readonly version: string; readonly url: string },
): OpenApiDocument {
  const parts: Record<string, z.ZodType> = { error: ErrorEnvelope, key: IdempotencyKey }
  const all = Object.entries(groups).flatMap(([tag, group]) =>
    Object.entries(group).map(([name, endpoint]) => ({ id: `${tag}.${name}`, tag, endpoint })),
  )
  for (const { id, endpoint } of all) Object.assign(parts, partsOf(id, endpoint))
  const catalog = toSchemas(parts)

  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const { id, tag, endpoint } of all) {
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = operation(catalog, id, tag, endpoint)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Computer', version, description: introduction },
    servers: [{ url }],
    security: [{ bearer: [] }, { cookie: [] }],
    tags: Object.keys(groups).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'computer_session',
          description:
            'A browser session. On https, browsers need the cookie `__Host-computer_session`, which signing in sets as well.',
        },
        guest: {
          type: 'apiKey',
          in: 'cookie',
          name: 'computer_guest',
          description:
            'The guest of a help request. On https, browsers need the cookie `__Host-computer_guest`, which spending the link sets as well.',
        },
      },
      headers: responseHeaders,
      responses: errorResponses(catalog),
      schemas: catalog.components,
    },
  }
}

const introduction = [
  'Persistent Linux computers with a desktop, a shell and a browser.',
  'Errors share one envelope; `error.code` identifies the kind of error.',
  'Lists return `data`, `next_cursor` and `has_more`: pass `next_cursor` as `cursor` to get the next page.',
  'An error with the header `retry-after` means that the same call may succeed after that many seconds.',
].join(' ')

const IdempotencyKey = text(255, 1).describe(
  'A unique key of your choice. For 24 hours, a repeated call with the same key and body returns the first response.',
)

const requirements: Readonly<Partial<Record<Endpoint['requires'], string>>> = {
  public: 'Requires no credential.',
  guest: 'For the guest of a help request, in the browser that spent the takeover link.',
  user: 'Requires a signed-in user; API keys are refused.',
  member: 'Available to every member of the organization.',
}

function partsOf(id: string, endpoint: Endpoint): SchemaParts {
  const { params, query, headers, body, uploads, response } = endpoint
  const answer = endpoint.status === 204 || endpoint.onlyBytes ? undefined : response
  const parts = { params, query, headers, body, uploads, response: answer }
  return Object.fromEntries(
    Object.entries(parts).flatMap(([name, schema]) => (schema ? [[`${id} ${name}`, schema]] : [])),
  )
}

function operation(
  catalog: SchemaCatalog,
  id: string,
  tag: string,
  endpoint: Endpoint,
): OpenApiOperation {
  const { requires, summary, body } = endpoint
  const content = {
    ...(body && { 'application/json': { schema: catalog.get(`${id} body`) } }),
    ...(endpoint.uploads && { [uploadTypeOf(endpoint)]: { schema: {} } }),
  }
  const alias = aliasOf(endpoint.path)
  const required = body === undefined || !body.safeParse({}).success
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [
      describeRequirements(endpoint),
      ...(alias === null ? [] : [`Also served at \`${alias}\`.`]),
    ].join(' '),
    'x-requires': requires,
    ...(alias !== null && { 'x-alias': alias }),
    ...(requires === 'public' && { security: [] }),
    ...(requires === 'user' && { security: [{ cookie: [] }] }),
    ...(requires === 'guest' && { security: [{ guest: [] }] }),
    parameters: parametersOf(catalog, id, endpoint),
    ...((body || endpoint.uploads) && {
      requestBody: { required, description: describeBody(endpoint), content },
    }),
    responses: {
      [endpoint.status]: success(catalog, id, endpoint, endpoint.status),
      ...(endpoint.alsoStatus && {
        [endpoint.alsoStatus]: success(catalog, id, endpoint, endpoint.alsoStatus),
      }),
      ...conditionalResponses(catalog, id),
      ...Object.fromEntries(
        Object.entries(errorStatus).map(([code, status]) => [
          String(status),
          { $ref: `#/components/responses/${code}` },
        ]),
      ),
    },
  }
}

function describeRequirements({ requires, queryRequires = {} }: Endpoint): string {
  const whole = requirements[requires] ?? `Requires the permission \`${requires}\`.`
  const additions = Object.entries(queryRequires).map(
    ([parameter, permission]) => ` \`${parameter}\` also requires \`${permission}\`.`,
  )
  return whole + additions.join('')
}

function describeBody(endpoint: Endpoint): string {
  const json = `JSON: at most ${showBodyLimit(bodyLimitOf(endpoint))}.`
  if (!endpoint.body) return 'Bytes: of any length.'
  return endpoint.uploads ? `${json} Bytes: of any length.` : json
}

function parametersOf(catalog: SchemaCatalog, id: string, endpoint: Endpoint): OpenApiParameter[] {
  const named = new Set(catalog.properties(`${id} query`).map(({ name }) => name))
  const uploads = catalog.properties(`${id} uploads`).filter(({ name }) => !named.has(name))
  const key = { name: 'idempotency-key', required: false }
  return [
    ...catalog.properties(`${id} params`).map((property) => parameter('path', property)),
    ...catalog.properties(`${id} query`).map((property) => parameter('query', property)),
    ...uploads.map((property) =>
      endpoint.body
        ? {
            ...parameter('query', { ...property, required: false }),
            description:
              'Replaces the JSON field of the same name when the body is application/octet-stream.',
          }
        : parameter('query', property),
    ),
    ...catalog.properties(`${id} headers`).map((property) => parameter('header', property)),
    ...(endpoint.creates ? [parameter('header', { ...key, schema: catalog.get('key') })] : []),
  ]
}

function parameter(
  place: OpenApiParameter['in'],
  property: { readonly name: string; readonly required: boolean; readonly schema: JsonSchema },
): OpenApiParameter {
  const { description, ...schema } = property.schema
  return {
    name: property.name,
    in: place,
    required: place === 'path' || property.required,
    ...(typeof description === 'string' && { description }),
    schema,
    ...(schema['type'] === 'object' && { style: 'deepObject', explode: true }),
  }
}

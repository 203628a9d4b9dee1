import type { JsonSchema } from '@computer/contract'
import type { Caller } from './callers.ts'
import type { Operation } from './document.ts'
import { makeValue, toJson, type ValueSource } from './values.ts'

/** A request as it is sent. */
export type SentRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Over a socket, with the URL as it stands; else injected, with the URL as a browser writes it. */
  readonly isRaw: boolean
}

/** A request of an operation: mostly as documented, and in some part not. */
export function makeRequest(
  source: ValueSource,
  operation: Operation,
  caller: Caller,
): SentRequest {
  const { random } = source
  const isOdd = () => random.fraction() < source.hostility / 3
  const isUpload = takesBytes(operation) && random.fraction() < 0.4
  let path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name)!
    const value = toText(makeValue(source, name, parameter.schema))
    return isOdd() ? random.pick(oddSegments) : encode(value)
  })
  if (path.startsWith('/v1/machines/') && random.fraction() < 0.05) path = path.slice('/v1'.length)
  if (isOdd()) path = random.pick(oddPaths)(path)
  const query = makeQuery(source, operation, isUpload)
  const method = isOdd() ? random.pick(oddMethods(operation)) : operation.method
  const { body, type } = makeBody(source, operation, isUpload)
  const headers: Record<string, string> = { ...caller.headers }
  if (type !== null) headers['content-type'] = type
  for (const { name, schema } of operation.parameters.filter((one) => one.in === 'header')) {
    if (random.fraction() < 0.3) headers[name] = toHeader(makeHeader(source, name, schema))
  }
  const bytes = bytesOf(operation)
  if (bytes !== undefined && random.fraction() < 0.4) headers['accept'] = bytes
  if (isOdd()) Object.assign(headers, random.pick(oddHeaders))
  return {
    method,
    url: query === '' ? path : `${path}?${query}`,
    headers,
    ...(body !== undefined && method !== 'HEAD' && { body }),
    isRaw: random.fraction() < 0.08,
  }
}

const methods = ['HEAD', 'OPTIONS', 'PATCH', 'PUT', 'DELETE', 'POST', 'GET']

/** A read of a machine does not become its deletion: the place's workhorse must go on running. */
function oddMethods({ operationId }: Operation): readonly string[] {
  return operationId.startsWith('machines.') ? methods.filter((one) => one !== 'DELETE') : methods
}

const oddSegments = [
  '%2e%2e',
  '..',
  '.',
  '%00',
  '%2500',
  '%2F',
  '%252F',
  '%ff',
  '%',
  '%zz',
  'a'.repeat(300),
  '*',
  ':id',
  '',
]
const oddPaths: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `${path}/unknown`,
  (path) => path.replace('/v1/', '/v1//'),
  (path) => path.replace('/v1/', '/V1/'),
  (path) => path.replace('/v1/', '/v2/'),
  (path) => path.replace('/v1/', '/v1/%2e%2e/v1/'),
  (path) => path.replace('/v1/m', '/v1/%6D'),
  (path) => path.replace('/v1/m', '/v1/%256D'),
  (path) => `${path};a=b`,
  (path) => `${path}%00`,
  (path) => `${path}%`,
]
const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  { accept: 'text/html' },
  { accept: '*/*;q=nonsense' },
  { 'content-encoding': 'gzip' },
  { 'if-none-match': '*' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-for': '10.0.0.1', 'x-forwarded-host': 'evil.example' },
  { 'user-agent': 'x'.repeat(3000) },
  { cookie: 'computer_session=; computer_session=x' },
  { origin: 'null' },
]

function makeQuery(source: ValueSource, operation: Operation, isUpload: boolean): string {
  const { random, hostility } = source
  const parts: string[] = []
  for (const { name, required, schema } of operation.parameters.filter(
    (one) => one.in === 'query',
  )) {
    const isSent = required || (isUpload && name === 'path')
    if (random.fraction() > (isSent ? 1 - hostility / 4 : isUpload ? 0.2 : 0.35)) continue
    const value = makeValue(source, name, schema)
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (isGroup) {
      for (const [key, inner] of Object.entries(value)) {
        parts.push(`${encode(`${name}[${key}]`)}=${encode(toText(inner))}`)
      }
    } else if (random.fraction() < hostility / 4) {
      parts.push(random.pick(oddQueries)(name, encode(toText(value))))
    } else {
      parts.push(`${name}=${encode(toText(value))}`)
    }
  }
  if (random.fraction() < hostility / 6)
    parts.push(
      random.pick([
        'unknown=1',
        '__proto__=1',
        '__proto__[a]=1',
        '=',
        '&&',
        '%00=1',
        '%ff',
        'a[b][c]=1',
        '[]=1',
      ]),
    )
  return parts.join('&')
}

const oddQueries: readonly ((name: string, value: string) => string)[] = [
  (name, value) => `${name}=${value}&${name}=${value}`,
  (name, value) => `${name}[]=${value}`,
  (name, value) => `${name}[a]=${value}&${name}[a]=1`,
  (name, value) => `${name}=${value}&${name}[a]=1`,
  (name) => `${name}=`,
  (name) => name,
  (name) => `${name}=%`,
  (name) => `${name}=%ff%fe`,
  (name) => `${name}=%2500`,
  (name) => `${name}=%00`,
  (name) => `${name}=1e999`,
]

function makeHeader(source: ValueSource, name: string, schema: JsonSchema): unknown {
  if (name !== 'idempotency-key' || source.random.fraction() < source.hostility) {
    return makeValue(source, name, schema)
  }
  // Few, so that they are used again, mostly with another body.
  return `key-${source.random.below(40)}`
}

function makeBody(source: ValueSource, operation: Operation, isUpload: boolean) {
  const { random, hostility } = source
  const schema = operation.requestBody?.content['application/json']?.schema
  if (isUpload) {
    const type = random.fraction() < hostility / 4 ? 'text/plain' : 'application/octet-stream'
    return {
      type,
      body: Buffer.from(random.pick(['', 'bytes', '\0\xff', 'x'.repeat(10_000)]), 'latin1'),
    }
  }
  if (!schema && random.fraction() >= hostility / 3) return { type: null }
  const json = toJson(makeValue({ ...source, hostility: hostility / 2 }, 'body', schema ?? {}))
  if (random.fraction() < hostility / 3) return random.pick(oddBodies)(json)
  return { type: 'application/json', body: json }
}

type Body = { readonly type: string | null; readonly body?: string | Buffer }
const oddBodies: readonly ((json: string) => Body)[] = [
  (json) => ({ type: 'application/json', body: json.slice(0, -1) }),
  (json) => ({ type: 'application/json', body: `\ufeff${json}` }),
  (json) => ({ type: 'application/json', body: `${json}${json}` }),
  (json) => ({ type: 'application/json', body: Buffer.from(json, 'utf16le') }),
  () => ({ type: 'application/json', body: Buffer.from([0xff, 0xfe, 0, 0x7b]) }),
  () => ({ type: 'application/json', body: '' }),
  () => ({ type: 'application/json', body: '{"__proto__":{"a":1}}' }),
  () => ({ type: 'application/json', body: '{"a":1,"a":2}' }),
  () => ({ type: 'application/json', body: '['.repeat(50_000) }),
  () => ({ type: 'application/json', body: `[${'0,'.repeat(12_000)}0]` }),
  () => ({ type: 'application/json', body: 'null' }),
  (json) => ({ type: 'application/json; charset=utf-16', body: json }),
  (json) => ({ type: 'APPLICATION/JSON', body: json }),
  (json) => ({ type: 'application/octet-stream', body: json }),
  (json) => ({ type: 'text/plain', body: json }),
  (json) => ({ type: 'multipart/form-data; boundary=x', body: json }),
  (json) => ({ type: 'nonsense', body: json }),
  (json) => ({ type: null, body: json }),
]

function takesBytes({ requestBody }: Operation): boolean {
  return requestBody?.content['application/octet-stream'] !== undefined
}

function bytesOf({ responses }: Operation): string | undefined {
  const success = responses['200']
  if (!success || '$ref' in success) return undefined
  const type = Object.keys(success.content ?? {}).find((one) => one !== 'application/json')
  return type === 'image/*' ? 'image/png' : type
}

function toText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** A lone surrogate becomes the bytes that careless clients send for it. */
function encode(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}

function toHeader(value: unknown): string {
  return toText(value)
    .replace(/[^\x20-\xff]/g, '?')
    .trim()
    .slice(0, 6_000)
}

import type { IncomingMessage } from 'node:http'
import { isSecret } from '../../domain/accounts/api-key-secret.ts'

/*
 * Which headers are forwarded, in both directions. Raw headers alternate names and values, as they were
 * received. Headers of a single connection are dropped (RFC 9110, 7.6.1). Credentials of the service
 * never reach a guest.
 */

type RawHeaders = readonly string[]

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])
/** Handled or rewritten here. */
const handledHere = new Set(['host', 'content-length', 'expect', 'x-preview-secret'])
/** Only the proxy may say where a request comes from. */
const origins =
  /^(forwarded|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/
/** These affect more than their own host: cookies of siblings, alternative servers. */
const notFromGuests = new Set(['clear-site-data', 'alt-svc'])
const ownCookie = /^(__Host-|__Secure-)?computer_(session|preview)/i

/** The headers that a guest receives, without the framing of the body. */
export function requestHeaders(
  { rawHeaders, headersDistinct }: Pick<IncomingMessage, 'rawHeaders' | 'headersDistinct'>,
  { host, client }: { readonly host: string; readonly client: string },
): string[] {
  const listed = listedByConnection(headersDistinct['connection'])
  const out = ['host', host]
  for (const [name, value] of pairsOf(rawHeaders)) {
    const key = name.toLowerCase()
    if (hopByHop.has(key) || handledHere.has(key) || listed.has(key)) continue
    // Many frameworks treat x_forwarded_for as x-forwarded-for.
    if (origins.test(key.replaceAll('_', '-')) || key === 'x_preview_secret') continue
    if (key === 'authorization' && isOwnCredential(value)) continue
    if (key !== 'cookie') out.push(name, value)
    else {
      const kept = withoutOwnCookies(value)
      if (kept !== '') out.push(name, kept)
    }
  }
  out.push('x-forwarded-for', client, 'x-forwarded-host', host, 'x-forwarded-proto', 'https')
  return out
}

/** The headers that a client receives. Chunked bodies are framed again, so their length is dropped. */
export function responseHeaders(rawHeaders: RawHeaders): string[] {
  const connection: string[] = []
  let isChunked = false
  for (const [name, value] of pairsOf(rawHeaders)) {
    const key = name.toLowerCase()
    if (key === 'connection') connection.push(value)
    if (key === 'transfer-encoding') isChunked = true
  }
  const listed = listedByConnection(connection)
  const out: string[] = []
  for (const [name, value] of pairsOf(rawHeaders)) {
    const key = name.toLowerCase()
    if (hopByHop.has(key) || listed.has(key) || notFromGuests.has(key)) continue
    if (key === 'content-length' && isChunked) continue
    if (key !== 'set-cookie') out.push(name, value)
    else if (!ownCookie.test(value.trim())) out.push(name, hostOnly(value))
  }
  return out
}

/** A comma-separated list in one or more headers. */
export function splitList(values: readonly string[] | undefined): string[] {
  return (values ?? []).flatMap((value) => value.split(',').map((part) => part.trim()))
}

/** The value of a cookie; null if it is missing or ambiguous. */
export function readCookie(headers: IncomingMessage['headersDistinct'], name: string) {
  const values = (headers['cookie'] ?? [])
    .flatMap((cookies) => cookies.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : null
}

/** Any credential of the service, sent to the wrong place. */
function isOwnCredential(value: string): boolean {
  const token = /^bearer\s+(\S+)\s*$/i.exec(value)?.[1]
  return token !== undefined && (isSecret(token) || /^computer_[a-z_]+_[\w-]{43}$/.test(token))
}

function withoutOwnCookies(cookies: string): string {
  return cookies
    .split(';')
    .filter((pair) => !ownCookie.test(pair.trim()))
    .join(';')
    .trim()
}

/** Without Domain the cookie is not sent to other previews. */
function hostOnly(cookie: string): string {
  return cookie
    .split(';')
    .filter((part, index) => index === 0 || !/^\s*domain\s*(=|$)/i.test(part))
    .join(';')
}

function listedByConnection(values: readonly string[] | undefined): ReadonlySet<string> {
  return new Set(splitList(values).map((name) => name.toLowerCase()))
}

function* pairsOf(raw: RawHeaders): Generator<[string, string]> {
  for (let at = 0; at + 1 < raw.length; at += 2) yield [raw[at]!, raw[at + 1]!]
}

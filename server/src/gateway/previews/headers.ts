import type { IncomingMessage } from 'node:http'
import { isSecret } from '../../domain/accounts/api-key-secret.ts'

/*
 * Which headers pass, in both directions. Headers are lists of names and values in turn, as they came.
 * What belongs to one connection stops at its end (RFC 9110, 7.6.1); what is between the visitor and
 * us, the credentials of the service first, never reaches a guest.
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
/** Answered or written anew by us. */
const ours = new Set(['host', 'content-length', 'expect', 'x-preview-secret'])
/** Who asks and how is ours to say. */
const origins =
  /^(forwarded|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/
/** These reach beyond the host that sends them: cookies of its siblings, other servers in its place. */
const notFromGuests = new Set(['clear-site-data', 'alt-svc'])
const ourCookie = /^(__Host-|__Secure-)?computer_(session|preview)/i

/** What a guest is sent beside the framing of the body. */
export function requestHeaders(
  { rawHeaders, headersDistinct }: Pick<IncomingMessage, 'rawHeaders' | 'headersDistinct'>,
  { host, client }: { readonly host: string; readonly client: string },
): string[] {
  const listed = listedByConnection(headersDistinct['connection'])
  const out = ['host', host]
  for (const [name, value] of pairsOf(rawHeaders)) {
    const key = name.toLowerCase()
    if (hopByHop.has(key) || ours.has(key) || listed.has(key)) continue
    // Many a framework takes x_forwarded_for for x-forwarded-for.
    if (origins.test(key.replaceAll('_', '-')) || key === 'x_preview_secret') continue
    if (key === 'authorization' && isCredentialOfOurs(value)) continue
    if (key !== 'cookie') out.push(name, value)
    else {
      const kept = withoutOurCookies(value)
      if (kept !== '') out.push(name, kept)
    }
  }
  out.push('x-forwarded-for', client, 'x-forwarded-host', host, 'x-forwarded-proto', 'https')
  return out
}

/** What a visitor is sent. A body of known length keeps it; another is framed anew. */
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
    else if (!ourCookie.test(value.trim())) out.push(name, hostOnly(value))
  }
  return out
}

/** A list in one or more headers, by commas. */
export function splitList(values: readonly string[] | undefined): string[] {
  return (values ?? []).flatMap((value) => value.split(',').map((part) => part.trim()))
}

/** The value of the one cookie of that name; null where there is none, or more than one. */
export function readCookie(headers: IncomingMessage['headersDistinct'], name: string) {
  const values = (headers['cookie'] ?? [])
    .flatMap((cookies) => cookies.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : null
}

/** Secrets of previews and everything else that opens the service, sent where it is of no use. */
function isCredentialOfOurs(value: string): boolean {
  const token = /^bearer\s+(\S+)\s*$/i.exec(value)?.[1]
  return token !== undefined && (isSecret(token) || /^computer_[a-z_]+_[\w-]{43}$/.test(token))
}

function withoutOurCookies(cookies: string): string {
  return cookies
    .split(';')
    .filter((pair) => !ourCookie.test(pair.trim()))
    .join(';')
    .trim()
}

/** Without its Domain a cookie goes to no other preview. */
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

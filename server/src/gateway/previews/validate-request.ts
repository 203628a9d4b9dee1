import type { IncomingMessage } from 'node:http'

/** Why a request is none that we pass on: a status and a word for its sender. */
export type Refusal = { readonly status: number; readonly text: string }

const maxHeaders = 100

/**
 * The parser has read the request strictly; here goes what it lets pass and two servers might read in
 * two ways. What is sent on is written anew from what remains, so both sides mean the same request.
 */
export function validateRequest(request: IncomingMessage): Refusal | null {
  const { method = '', url = '', headersDistinct: headers, rawHeaders } = request
  if (rawHeaders.length > 2 * maxHeaders) return { status: 431, text: 'Too many headers.' }
  if (method === 'TRACE') return { status: 405, text: 'TRACE is not served.' }
  if (headers['host']?.length !== 1) return bad('There must be one Host.')
  if (!/^\/[\x21\x22\x24-\x7e]*$/.test(url)) return bad('The address of the request is malformed.')
  if (!isFramedOnce(request)) return bad('The length of the body is ambiguous.')
  if (isUpgrade(request) && !isWebSocket(request)) return bad('That is no WebSocket handshake.')
  return null
}

export function hasBody({ headersDistinct: headers }: IncomingMessage): boolean {
  const length = headers['content-length']?.[0]
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** Other upgrades may be declined by going on as if they were not asked for, so they are. */
export function isUpgrade({ headersDistinct: headers }: IncomingMessage): boolean {
  return headers['upgrade']?.some((value) => value.toLowerCase() === 'websocket') ?? false
}

function isFramedOnce({ headersDistinct: headers, httpVersion }: IncomingMessage): boolean {
  const { 'content-length': lengths, 'transfer-encoding': codings } = headers
  if (codings && (lengths || httpVersion !== '1.1')) return false
  if (codings) return codings.length === 1 && codings[0]!.toLowerCase() === 'chunked'
  if (lengths) return lengths.length === 1 && /^(0|[1-9]\d{0,14})$/.test(lengths[0]!)
  return true
}

/** A handshake has no body: what follows it would be read as one by one side alone. */
function isWebSocket(request: IncomingMessage): boolean {
  const { method, httpVersion, headersDistinct: headers } = request
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    headers['upgrade']?.length === 1 &&
    headers['sec-websocket-key']?.length === 1 &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined
  )
}

function bad(text: string): Refusal {
  return { status: 400, text }
}

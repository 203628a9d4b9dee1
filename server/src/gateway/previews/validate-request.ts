import type { IncomingMessage } from 'node:http'

/** Why a request is not forwarded. */
type Refusal = { readonly status: number; readonly text: string }

const maxHeaders = 100

/**
 * Refuses requests that the strict parser accepts but two servers might read differently (request
 * smuggling). Forwarded requests are written anew from the rest, so both sides see the same request.
 */
export function validateRequest(request: IncomingMessage): Refusal | null {
  const { method = '', url = '', headersDistinct: headers, rawHeaders } = request
  if (rawHeaders.length > 2 * maxHeaders) return { status: 431, text: 'Too many headers.' }
  if (method === 'TRACE') return { status: 405, text: 'TRACE is not supported.' }
  if (headers['host']?.length !== 1) return bad('Exactly one Host header is required.')
  if (!/^\/[\x21\x22\x24-\x7e]*$/.test(url)) return bad('The request target is malformed.')
  if (!isFramedOnce(request)) return bad('The length of the body is ambiguous.')
  if (isUpgrade(request) && !isWebSocket(request))
    return bad('This is not a valid WebSocket handshake.')
  return null
}

export function hasBody({ headersDistinct: headers }: IncomingMessage): boolean {
  const length = headers['content-length']?.[0]
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** Other upgrades are ignored, which declines them. */
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

/** A handshake must have no body: only one of two servers might read what follows as one. */
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

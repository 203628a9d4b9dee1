import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'

/** The parts of a call that tell which page made it and which address it was sent to. */
export type RequestOrigin = {
  readonly headers: IncomingHttpHeaders
  readonly protocol: string
  readonly host: string
}

/**
 * Refuses calls that a browser makes for a page of another site. Use it for calls authenticated by
 * cookie: browsers attach cookies to any page's calls, but a page cannot choose its Origin.
 */
export function requireOrigin(config: OriginConfig, request: RequestOrigin): void {
  if (request.headers.origin === undefined) {
    throw new ApiError(
      'permission_denied',
      'calls with a browser session must come from a page of this service, with its Origin; programs must send an API key',
    )
  }
  refuseForeignOrigin(config, request)
}

/** For calls that need no cookie: programs send no Origin and are let through. */
export function refuseForeignOrigin(config: OriginConfig, request: RequestOrigin): void {
  const { origin } = request.headers
  if (origin === undefined || isRecognisedOrigin(config, origin, request)) return
  throw new ApiError('permission_denied', 'pages of this Origin may not call this service')
}

/** Compares exact strings as browsers send them, so that no lookalike passes. */
export function isRecognisedOrigin(
  { origins, baseUrl }: OriginConfig,
  origin: string,
  { protocol, host }: Pick<RequestOrigin, 'protocol' | 'host'>,
): boolean {
  if (origins) return origins.includes(origin)
  return origin === new URL(baseUrl).origin || origin === originOf(protocol, host)
}

type OriginConfig = Pick<Config, 'baseUrl' | 'origins'>

/** As a browser would send it, or null if no web page can have this address. */
function originOf(protocol: string, host: string): string | null {
  if (!/^https?$/.test(protocol) || !/^[\w.[\]:-]+$/.test(host)) return null
  const address = `${protocol}://${host}`
  return URL.canParse(address) ? new URL(address).origin : null
}

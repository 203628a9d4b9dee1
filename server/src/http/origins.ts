import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'

/** The parts of a call that tell which page made it and which address it was sent to. */
type RequestOrigin = {
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
  throw new ApiError(
    'permission_denied',
    'pages of this Origin may not call this service; the operator can name it in COMPUTER_BASE_URL or COMPUTER_ORIGINS',
  )
}

/** Compares exact strings as browsers send them, so that no lookalike passes. */
export function isRecognisedOrigin(
  config: OriginConfig,
  origin: string,
  { protocol, host }: Pick<RequestOrigin, 'protocol' | 'host'>,
): boolean {
  if (config.origins) return config.origins.includes(origin)
  if (origin === new URL(config.baseUrl).origin) return true
  const requested = parseAddress(protocol, host)
  return requested !== null && origin === requested.origin && isOwnHost(config, requested.hostname)
}

/**
 * The address at which the caller reaches this service. If the operator has set one that others can reach,
 * it is that one; otherwise the one that the call was sent to, if only this service can be meant by it.
 */
export function addressOf(
  config: Pick<Config, 'baseUrl' | 'dashboardUrl'>,
  { protocol, host }: Pick<RequestOrigin, 'protocol' | 'host'>,
): string {
  const base = config.baseUrl.replace(/\/+$/, '')
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(new URL(base).hostname)) return base
  const requested = parseAddress(protocol, host)
  return requested !== null && isOwnHost(config, requested.hostname) ? requested.origin : base
}

type OriginConfig = Pick<Config, 'baseUrl' | 'dashboardUrl' | 'origins'>

/**
 * Whether only this service can be meant by the host. Any other name may be a website's own, whose
 * owner lets it lead here (DNS rebinding): its pages then have the address that they call. Reads need
 * no such check, because a browser has no cookie of ours for that name.
 */
function isOwnHost(
  { baseUrl, dashboardUrl }: Pick<Config, 'baseUrl' | 'dashboardUrl'>,
  hostname: string,
): boolean {
  if (hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return true
  return [baseUrl, dashboardUrl].some((url) => new URL(url).hostname === hostname)
}

/** The requested address, or null if no web page can have it. */
function parseAddress(protocol: string, host: string): URL | null {
  if (!/^https?$/.test(protocol) || !/^[\w.[\]:-]+$/.test(host)) return null
  return URL.parse(`${protocol}://${host}`)
}

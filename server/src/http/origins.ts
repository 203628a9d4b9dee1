import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'

/** A call as far as it says which page made it, and at which address it came in. */
export type Sent = {
  readonly headers: IncomingHttpHeaders
  readonly protocol: string
  readonly host: string
}

/**
 * Refuses a call that a browser made for a page of another site. It is for calls that a cookie
 * vouches for: browsers send it along whoever asks, while a page cannot choose its Origin.
 */
export function requireOrigin(config: OriginConfig, sent: Sent): void {
  if (sent.headers.origin === undefined) {
    throw new ApiError(
      'permission_denied',
      'a browser session may change things only with the Origin of a page of this service; programs send an API key',
    )
  }
  refuseForeignOrigin(config, sent)
}

/** The same for calls that need no cookie: programs send no Origin and may go on. */
export function refuseForeignOrigin(config: OriginConfig, sent: Sent): void {
  const { origin } = sent.headers
  if (origin === undefined || isRecognisedOrigin(config, origin, sent)) return
  throw new ApiError('permission_denied', 'pages of that Origin may not act in this service')
}

/**
 * Whether it is an origin of the service's own pages. Compared letter by letter with what browsers
 * send, so that nothing which only looks alike passes.
 */
export function isRecognisedOrigin(
  { origins, baseUrl }: OriginConfig,
  origin: string,
  { protocol, host }: Pick<Sent, 'protocol' | 'host'>,
): boolean {
  if (origins) return origins.includes(origin)
  return origin === new URL(baseUrl).origin || origin === originOf(protocol, host)
}

type OriginConfig = Pick<Config, 'baseUrl' | 'origins'>

/** As a browser would send it, or null where the address is none of a web page. */
function originOf(protocol: string, host: string): string | null {
  if (!/^https?$/.test(protocol) || !/^[\w.[\]:-]+$/.test(host)) return null
  const address = `${protocol}://${host}`
  return URL.canParse(address) ? new URL(address).origin : null
}

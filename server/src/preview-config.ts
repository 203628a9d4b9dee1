import { z } from 'zod'

/** The part of the environment that is about previews (docs/previews.md). */
export const previewEnvironment = {
  COMPUTER_PREVIEW_DOMAIN: z
    .string()
    .max(200)
    .regex(
      /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
      'must be a domain in lower case, such as preview.example.com',
    )
    .optional(),
  COMPUTER_PREVIEW_PORT: z.coerce.number().int().min(0).max(65_535).default(7082),
  COMPUTER_PREVIEW_PUBLIC_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  COMPUTER_PREVIEW_CERT: z.string().optional(),
  COMPUTER_PREVIEW_KEY: z.string().optional(),
}

/** Where previews answer; null: no port can be published. */
export type PreviewConfig = {
  readonly domain: string
  /** What the gateway listens on for them, and what their addresses say. */
  readonly port: number
  readonly publicPort: number
  /**
   * `files`: a wildcard certificate. `authority`: our own local one, for `localhost`. `proxy`: a
   * trusted proxy before us has the certificate, and nobody else is served.
   */
  readonly tls:
    | { readonly by: 'files'; readonly cert: string; readonly key: string }
    | { readonly by: 'authority' }
    | { readonly by: 'proxy' }
}

type Values = z.output<z.ZodObject<typeof previewEnvironment>>

/** Throws an Error that says what is missing. */
export function readPreviewConfig(
  values: Values,
  { baseUrl, trustsProxy }: { readonly baseUrl: string; readonly trustsProxy: boolean },
): PreviewConfig | null {
  const { COMPUTER_PREVIEW_DOMAIN: domain, COMPUTER_PREVIEW_PORT: port } = values
  if (domain === undefined) return null
  requireApart(domain, new URL(baseUrl).hostname)
  const tls = chooseTls(values, domain, trustsProxy)
  const publicPort = values.COMPUTER_PREVIEW_PUBLIC_PORT ?? (tls.by === 'proxy' ? 443 : port)
  return { domain, port, publicPort, tls }
}

function chooseTls(values: Values, domain: string, trustsProxy: boolean): PreviewConfig['tls'] {
  const { COMPUTER_PREVIEW_CERT: cert, COMPUTER_PREVIEW_KEY: key } = values
  if (cert && key) return { by: 'files', cert, key }
  if (cert || key) throw new Error('COMPUTER_PREVIEW_CERT and COMPUTER_PREVIEW_KEY go together')
  if (domain === 'localhost' || domain.endsWith('.localhost')) return { by: 'authority' }
  if (trustsProxy) return { by: 'proxy' }
  throw new Error(
    'COMPUTER_PREVIEW_DOMAIN needs a certificate for its names: COMPUTER_PREVIEW_CERT and COMPUTER_PREVIEW_KEY, or COMPUTER_TRUST_PROXY with the proxy that has one',
  )
}

/** A preview may set cookies for the whole domain, which must reach nothing but previews. */
function requireApart(domain: string, dashboardHost: string): void {
  const isWithin = dashboardHost === domain || dashboardHost.endsWith(`.${domain}`)
  if (!isWithin || dashboardHost === 'localhost') return
  throw new Error(
    `COMPUTER_PREVIEW_DOMAIN must not be ${domain}: cookies of previews would reach ${dashboardHost}, where people sign in`,
  )
}

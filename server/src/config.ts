import { isIP } from 'node:net'
import { z } from 'zod'

const commaList = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item))
const origin = z.string().refine(isOrigin, 'must be like https://computer.example.com')
const network = z.string().refine(isAddressOrNetwork, 'must be an IP address or a CIDR')
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })

const port = z.coerce.number().int().min(0).max(65535)
/** Variables for previews (docs/previews.md). */
const previewEnvironment = {
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

const environment = z.object({
  COMPUTER_DATA: z.string().startsWith('/').default('/var/lib/computer'),
  COMPUTER_IMAGE_CACHE: z.string().startsWith('/').optional(),
  COMPUTER_BIND: z.string().default('127.0.0.1'),
  COMPUTER_API_PORT: port.default(7080),
  COMPUTER_GATEWAY_PORT: port.default(7081),
  COMPUTER_BASE_URL: httpUrl.optional(),
  COMPUTER_GATEWAY_URL: z.url().optional(),
  COMPUTER_DASHBOARD_URL: httpUrl.optional(),
  COMPUTER_ORIGINS: commaList(origin).optional(),
  COMPUTER_TRUST_PROXY: commaList(network).optional(),
  COMPUTER_SIGNUP: z.enum(['open', 'closed']).default('open'),
  COMPUTER_SIGNUP_PLAN: z
    .enum(['free', 'developer', 'pro', 'startup', 'enterprise'])
    .default('free'),
  COMPUTER_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be smtp:// or smtps://' })
    .optional(),
  COMPUTER_MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*@[^\r\n]*$/, 'must be an address that mail is sent from')
    .optional(),
  ...previewEnvironment,
  COMPUTER_REGION: z.string().min(1).max(63).default('local'),
  COMPUTER_UID_BASE: z.coerce.number().int().min(65_536).default(1_000_000),
  COMPUTER_POOL_SIZE_GB: z.coerce.number().int().min(5).optional(),
  COMPUTER_POOL_SOURCE: z.string().startsWith('/dev/').optional(),
  COMPUTER_NETWORK: z.cidrv4().optional(),
  COMPUTER_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  COMPUTER_SECRETS_KEYRING: z.string().startsWith('/').optional(),
  DATABASE_URL: z.string().optional(),
  ENGINE_URL: z.url().optional(),
  ENGINE_CERT: z.string().optional(),
  ENGINE_KEY: z.string().optional(),
  ENGINE_SERVER_CERT: z.string().optional(),
})

/** The configuration from the environment. Each process reads it once, when it starts. */
export type Config = {
  readonly dataDir: string
  readonly imageCacheDir: string
  readonly bind: string
  readonly apiPort: number
  readonly gatewayPort: number
  readonly baseUrl: string
  readonly gatewayUrl: string
  /** The address that people use in a browser. Links in mails lead there. */
  readonly dashboardUrl: string
  /** Origins whose pages may use the browser's cookie; null: the server's own addresses. */
  readonly origins: readonly string[] | null
  /** Addresses and networks of proxies whose x-forwarded headers are trusted. */
  readonly trustProxy: readonly string[]
  /** `closed`: signing up needs an invitation. */
  readonly signup: 'open' | 'closed'
  readonly signupPlan: string
  /** The mail server; null: no mail is sent. */
  readonly smtpUrl: string | null
  readonly mailFrom: string
  readonly previews: PreviewConfig | null
  readonly region: string
  /** The first host uid for machines. Machine number n starts at 65,536 × n above it. */
  readonly uidBase: number
  /** An existing Incus server; null: the private daemon of the data folder. */
  readonly engine: {
    readonly url: string
    /** Paths of the client's certificate and key, and of the server's certificate if it is self-signed. */
    readonly cert: string
    readonly key: string
    readonly serverCert: string | null
  } | null
  readonly poolSizeGb: number | null
  readonly poolSource: string | null
  readonly networkCidr: string | null
  /** The file with the encryption keys of secrets. Without it, secrets are disabled. */
  readonly keyringPath: string
  /** An external Postgres; null: the embedded one of the data folder. */
  readonly databaseUrl: string | null
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

/** The addresses of previews. Without them no port can be published. */
export type PreviewConfig = {
  readonly domain: string
  /** The port that the gateway listens on, and the port in the addresses of previews. */
  readonly port: number
  readonly publicPort: number
  /**
   * `files`: a wildcard certificate. `authority`: our own local authority, for `localhost`. `proxy`: a
   * trusted proxy has the certificate, and only requests through it are served.
   */
  readonly tls:
    | { readonly by: 'files'; readonly cert: string; readonly key: string }
    | { readonly by: 'authority' }
    | { readonly by: 'proxy' }
}

/** Throws an Error that names every invalid variable. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const parsed = environment.safeParse(env)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      (issue) => `  ${issue.path.join('.')}: ${issue.message}`,
    )
    throw new Error(`invalid environment variables:\n${problems.join('\n')}`)
  }
  const values = parsed.data
  const { ENGINE_URL: url, ENGINE_CERT: cert, ENGINE_KEY: key } = values
  if (url && !(cert && key)) {
    throw new Error(
      'ENGINE_URL needs ENGINE_CERT and ENGINE_KEY, the files of a client certificate',
    )
  }
  const baseUrl = values.COMPUTER_BASE_URL ?? `http://127.0.0.1:${values.COMPUTER_API_PORT}`
  return {
    dataDir: values.COMPUTER_DATA,
    imageCacheDir: values.COMPUTER_IMAGE_CACHE ?? `${values.COMPUTER_DATA}/images`,
    bind: values.COMPUTER_BIND,
    apiPort: values.COMPUTER_API_PORT,
    gatewayPort: values.COMPUTER_GATEWAY_PORT,
    baseUrl,
    gatewayUrl: values.COMPUTER_GATEWAY_URL ?? `ws://127.0.0.1:${values.COMPUTER_GATEWAY_PORT}`,
    dashboardUrl: (values.COMPUTER_DASHBOARD_URL ?? baseUrl).replace(/\/+$/, ''),
    origins: values.COMPUTER_ORIGINS ?? null,
    trustProxy: values.COMPUTER_TRUST_PROXY ?? [],
    signup: values.COMPUTER_SIGNUP,
    signupPlan: values.COMPUTER_SIGNUP_PLAN,
    smtpUrl: values.COMPUTER_SMTP_URL ?? null,
    mailFrom: values.COMPUTER_MAIL_FROM ?? `computer@${new URL(baseUrl).hostname}`,
    previews: readPreviewConfig(values, {
      baseUrl,
      trustsProxy: (values.COMPUTER_TRUST_PROXY ?? []).length > 0,
    }),
    region: values.COMPUTER_REGION,
    uidBase: values.COMPUTER_UID_BASE,
    engine:
      url && cert && key ? { url, cert, key, serverCert: values.ENGINE_SERVER_CERT ?? null } : null,
    poolSizeGb: values.COMPUTER_POOL_SIZE_GB ?? null,
    poolSource: values.COMPUTER_POOL_SOURCE ?? null,
    networkCidr: values.COMPUTER_NETWORK ?? null,
    keyringPath: values.COMPUTER_SECRETS_KEYRING ?? `${values.COMPUTER_DATA}/secrets.keyring`,
    databaseUrl: values.DATABASE_URL ?? null,
    logLevel: values.COMPUTER_LOG_LEVEL,
  }
}

type PreviewValues = z.output<z.ZodObject<typeof previewEnvironment>>

/** Throws an Error that says what is missing. */
function readPreviewConfig(
  values: PreviewValues,
  { baseUrl, trustsProxy }: { readonly baseUrl: string; readonly trustsProxy: boolean },
): PreviewConfig | null {
  const { COMPUTER_PREVIEW_DOMAIN: domain, COMPUTER_PREVIEW_PORT: port } = values
  if (domain === undefined) return null
  requireApart(domain, new URL(baseUrl).hostname)
  const tls = chooseTls(values, domain, trustsProxy)
  const publicPort = values.COMPUTER_PREVIEW_PUBLIC_PORT ?? (tls.by === 'proxy' ? 443 : port)
  return { domain, port, publicPort, tls }
}

function chooseTls(
  values: PreviewValues,
  domain: string,
  trustsProxy: boolean,
): PreviewConfig['tls'] {
  const { COMPUTER_PREVIEW_CERT: cert, COMPUTER_PREVIEW_KEY: key } = values
  if (cert && key) return { by: 'files', cert, key }
  if (cert || key)
    throw new Error('COMPUTER_PREVIEW_CERT and COMPUTER_PREVIEW_KEY must be set together')
  if (domain === 'localhost' || domain.endsWith('.localhost')) return { by: 'authority' }
  if (trustsProxy) return { by: 'proxy' }
  throw new Error(
    'COMPUTER_PREVIEW_DOMAIN needs a certificate: set COMPUTER_PREVIEW_CERT and COMPUTER_PREVIEW_KEY, or COMPUTER_TRUST_PROXY to the proxy that has one',
  )
}

/** Previews can set cookies for the whole domain, so only previews may be below it. */
function requireApart(domain: string, dashboardHost: string): void {
  const isWithin = dashboardHost === domain || dashboardHost.endsWith(`.${domain}`)
  if (!isWithin || dashboardHost === 'localhost') return
  throw new Error(
    `COMPUTER_PREVIEW_DOMAIN must not be ${domain}: cookies of previews would reach ${dashboardHost}, where people sign in`,
  )
}

/** The form of a browser's Origin header: no path, no default port, lower case. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  if (bits === 0 || rest.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
}

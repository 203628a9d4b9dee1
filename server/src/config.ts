import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import { environment } from './environment.ts'
import type { StripeConfig } from './payments/stripe/client.ts'

/** The configuration, read from the environment once at the start of each process. */
export type Config = {
  readonly dataDir: string
  readonly imageCacheDir: string
  readonly bind: string
  readonly apiPort: number
  readonly gatewayPort: number
  readonly metricsBind: string
  /** The port of the first role; those of the others follow it. 0: no metrics are served. */
  readonly metricsPort: number
  readonly baseUrl: string
  readonly gatewayUrl: string
  readonly dashboardUrl: string
  /** Origins whose pages may use the browser's cookie. Null: those of the server itself. */
  readonly origins: readonly string[] | null
  readonly trustProxy: readonly string[]
  /** Private networks that webhooks may reach. */
  readonly webhookNetworks: readonly string[]
  readonly signup: 'open' | 'closed'
  readonly signupPlan: string
  /** A user may own this many. An operator may make them owner of more. */
  readonly organizationsPerUser: number
  /** Null: no mail is sent. */
  readonly smtpUrl: string | null
  readonly mailFrom: string
  /** Null: ports cannot be published. */
  readonly previews: PreviewConfig | null
  /** Null: no payments are collected. */
  readonly stripe: StripeConfig | null
  /** The name of this host, which its machines are recorded under. */
  readonly host: string
  /** Where the worker listens for processes of other hosts. Null: the server has one host. */
  readonly hostAddress: { readonly address: string; readonly port: number } | null
  readonly region: string
  /** The first host uid for machines. Machine number n starts at 65,536 × n above it. */
  readonly uidBase: number
  /** Null: the private daemon of the data folder. */
  readonly engine: RemoteEngine | LocalEngine | null
  /** Machines on this host are reached past the engine. */
  readonly directAgents: boolean
  readonly poolSizeGb: number | null
  readonly poolSource: string | null
  readonly networkCidr: string | null
  readonly keyringPath: string
  /** Null: the embedded Postgres of the data folder. */
  readonly databaseUrl: string | null
  /** At most, of each process. */
  readonly databaseConnections: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly logs: 'files' | 'stdout'
  /** This many machines wait to be taken by creates. */
  readonly warmMachines: number
  /** Spans are written to the log. */
  readonly trace: boolean
  /** Where spans are sent. Null: nowhere. */
  readonly collectorUrl: string | null
}

/** How previews are served. */
export type PreviewConfig = {
  readonly domain: string
  /** The gateway listens on `port`; the addresses of previews contain `publicPort`. */
  readonly port: number
  readonly publicPort: number
  /**
   * `files`: a wildcard certificate. `authority`: our local authority, for `localhost`. `proxy`: a
   * trusted proxy has the certificate, and all other clients are refused.
   */
  readonly tls:
    | { readonly by: 'files'; readonly cert: string; readonly key: string }
    | { readonly by: 'authority' }
    | { readonly by: 'proxy' }
}

/** An engine that is reached over the network. */
type RemoteEngine = {
  readonly url: string
  /** Paths of files. */
  readonly cert: string
  readonly key: string
  readonly serverCert: string | null
}

/** A daemon on this host that others run. */
type LocalEngine = { readonly dir: string; readonly pool: string }

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
  const baseUrl = values.COMPUTER_BASE_URL ?? `http://127.0.0.1:${values.COMPUTER_API_PORT}`
  return {
    dataDir: values.COMPUTER_DATA,
    imageCacheDir: values.COMPUTER_IMAGE_CACHE ?? `${values.COMPUTER_DATA}/images`,
    bind: values.COMPUTER_BIND,
    apiPort: values.COMPUTER_API_PORT,
    gatewayPort: values.COMPUTER_GATEWAY_PORT,
    metricsBind: values.COMPUTER_METRICS_BIND,
    metricsPort: values.COMPUTER_METRICS_PORT,
    baseUrl,
    gatewayUrl: values.COMPUTER_GATEWAY_URL ?? `ws://127.0.0.1:${values.COMPUTER_GATEWAY_PORT}`,
    dashboardUrl: (values.COMPUTER_DASHBOARD_URL ?? baseUrl).replace(/\/+$/, ''),
    origins: values.COMPUTER_ORIGINS ?? null,
    trustProxy: values.COMPUTER_TRUST_PROXY ?? [],
    webhookNetworks: values.COMPUTER_WEBHOOK_NETWORKS ?? [],
    signup: values.COMPUTER_SIGNUP,
    signupPlan: values.COMPUTER_SIGNUP_PLAN,
    organizationsPerUser: values.COMPUTER_ORGANIZATIONS_PER_USER,
    smtpUrl: values.COMPUTER_SMTP_URL ?? null,
    mailFrom: values.COMPUTER_MAIL_FROM ?? `computer@${new URL(baseUrl).hostname}`,
    previews: readPreviewConfig(values, {
      baseUrl,
      trustsProxy: (values.COMPUTER_TRUST_PROXY ?? []).length > 0,
    }),
    stripe: readStripeConfig(values),
    host: values.COMPUTER_HOST,
    hostAddress: values.COMPUTER_HOST_ADDRESS ?? null,
    region: values.COMPUTER_REGION,
    uidBase: values.COMPUTER_UID_BASE,
    engine: readEngineConfig(values),
    directAgents: values.COMPUTER_DIRECT_AGENTS === '1',
    poolSizeGb: values.COMPUTER_POOL_SIZE_GB ?? null,
    poolSource: values.COMPUTER_POOL_SOURCE ?? null,
    networkCidr: values.COMPUTER_NETWORK ?? null,
    keyringPath: values.COMPUTER_SECRETS_KEYRING ?? `${values.COMPUTER_DATA}/secrets.keyring`,
    databaseUrl: values.DATABASE_URL ?? null,
    databaseConnections: values.COMPUTER_DB_CONNECTIONS,
    logLevel: values.COMPUTER_LOG_LEVEL,
    logs: values.COMPUTER_LOGS,
    warmMachines: values.COMPUTER_WARM_MACHINES ?? (totalmem() >= leastMemoryBytes ? 1 : 0),
    trace: values.COMPUTER_TRACE === '1',
    collectorUrl: values.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
  }
}

/** A host with less keeps its memory for the machines of users. */
const leastMemoryBytes = 6 * 10 ** 9

/** The folder of the guest agent on the host; machines mount it read-only. */
export function guestDir({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'guest')
}

type Values = z.output<typeof environment>

function readEngineConfig(values: Values): Config['engine'] {
  const { ENGINE_URL: url, ENGINE_CERT: cert, ENGINE_KEY: key, COMPUTER_ENGINE_DIR: dir } = values
  if (url !== undefined && dir !== undefined)
    throw new Error('ENGINE_URL and COMPUTER_ENGINE_DIR name two engines: leave one of them out')
  if (dir !== undefined) return { dir, pool: values.COMPUTER_ENGINE_POOL }
  if (url === undefined) return null
  if (cert && key) return { url, cert, key, serverCert: values.ENGINE_SERVER_CERT ?? null }
  throw new Error(
    'ENGINE_URL requires ENGINE_CERT and ENGINE_KEY, the files of a client certificate',
  )
}

function readPreviewConfig(
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

function readStripeConfig(values: Values): StripeConfig | null {
  const { COMPUTER_STRIPE_SECRET_KEY: secretKey, COMPUTER_STRIPE_WEBHOOK_SECRET: webhookSecret } =
    values
  const apiUrl = values.COMPUTER_STRIPE_API_URL ?? null
  if (secretKey && webhookSecret) return { secretKey, webhookSecret, apiUrl }
  if (secretKey) {
    throw new Error(
      'COMPUTER_STRIPE_SECRET_KEY requires COMPUTER_STRIPE_WEBHOOK_SECRET: without it, payments would never be noticed',
    )
  }
  if (webhookSecret || apiUrl !== null) {
    throw new Error(
      'COMPUTER_STRIPE_WEBHOOK_SECRET and COMPUTER_STRIPE_API_URL require COMPUTER_STRIPE_SECRET_KEY',
    )
  }
  return null
}

function chooseTls(values: Values, domain: string, trustsProxy: boolean): PreviewConfig['tls'] {
  const { COMPUTER_PREVIEW_CERT: cert, COMPUTER_PREVIEW_KEY: key } = values
  if (cert && key) return { by: 'files', cert, key }
  if (cert || key)
    throw new Error('COMPUTER_PREVIEW_CERT and COMPUTER_PREVIEW_KEY must be set together')
  if (domain === 'localhost' || domain.endsWith('.localhost')) return { by: 'authority' }
  if (trustsProxy) return { by: 'proxy' }
  throw new Error(
    'COMPUTER_PREVIEW_DOMAIN requires a wildcard certificate: set COMPUTER_PREVIEW_CERT and COMPUTER_PREVIEW_KEY, or COMPUTER_TRUST_PROXY if a proxy has it',
  )
}

/** A preview may set cookies for its whole domain, so that domain must serve previews only. */
function requireApart(domain: string, dashboardHost: string): void {
  const isWithin = dashboardHost === domain || dashboardHost.endsWith(`.${domain}`)
  if (!isWithin || dashboardHost === 'localhost') return
  throw new Error(
    `COMPUTER_PREVIEW_DOMAIN must not be ${domain}: cookies of previews would reach ${dashboardHost}, where people sign in`,
  )
}

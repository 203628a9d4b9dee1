import { z } from 'zod'

const port = z.coerce.number().int().min(0).max(65535)
const environment = z.object({
  COMPUTER_DATA: z.string().startsWith('/').default('/var/lib/computer'),
  COMPUTER_IMAGE_CACHE: z.string().startsWith('/').optional(),
  COMPUTER_BIND: z.string().default('127.0.0.1'),
  COMPUTER_API_PORT: port.default(7080),
  COMPUTER_GATEWAY_PORT: port.default(7081),
  COMPUTER_BASE_URL: z.url().optional(),
  COMPUTER_GATEWAY_URL: z.url().optional(),
  COMPUTER_REGION: z.string().min(1).max(63).default('local'),
  COMPUTER_UID_BASE: z.coerce.number().int().min(65_536).default(1_000_000),
  COMPUTER_POOL_SIZE_GB: z.coerce.number().int().min(5).optional(),
  COMPUTER_POOL_SOURCE: z.string().startsWith('/dev/').optional(),
  COMPUTER_NETWORK: z.cidrv4().optional(),
  COMPUTER_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  DATABASE_URL: z.string().optional(),
  ENGINE_URL: z.url().optional(),
  ENGINE_CERT: z.string().optional(),
  ENGINE_KEY: z.string().optional(),
  ENGINE_SERVER_CERT: z.string().optional(),
})

/** Everything the environment decides. Read once, at the start of each process. */
export type Config = {
  readonly dataDir: string
  readonly imageCacheDir: string
  readonly bind: string
  readonly apiPort: number
  readonly gatewayPort: number
  readonly baseUrl: string
  readonly gatewayUrl: string
  readonly region: string
  /** First host uid that machines may be mapped to; machine number n starts 65,536 × n above it. */
  readonly uidBase: number
  /** An existing Incus server; null: the private daemon of the data folder. */
  readonly engine: {
    readonly url: string
    /** Files: the client's certificate and key, and the server's own unless an authority signed it. */
    readonly cert: string
    readonly key: string
    readonly serverCert: string | null
  } | null
  readonly poolSizeGb: number | null
  readonly poolSource: string | null
  readonly networkCidr: string | null
  /** An external Postgres; null: the embedded one of the data folder. */
  readonly databaseUrl: string | null
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

/** Throws an Error that names every variable that is wrong. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const parsed = environment.safeParse(env)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      (issue) => `  ${issue.path.join('.')}: ${issue.message}`,
    )
    throw new Error(`the environment cannot be used:\n${problems.join('\n')}`)
  }
  const values = parsed.data
  const { ENGINE_URL: url, ENGINE_CERT: cert, ENGINE_KEY: key } = values
  if (url && !(cert && key)) {
    throw new Error('ENGINE_URL needs ENGINE_CERT and ENGINE_KEY: files of a client certificate')
  }
  return {
    dataDir: values.COMPUTER_DATA,
    imageCacheDir: values.COMPUTER_IMAGE_CACHE ?? `${values.COMPUTER_DATA}/images`,
    bind: values.COMPUTER_BIND,
    apiPort: values.COMPUTER_API_PORT,
    gatewayPort: values.COMPUTER_GATEWAY_PORT,
    baseUrl: values.COMPUTER_BASE_URL ?? `http://127.0.0.1:${values.COMPUTER_API_PORT}`,
    gatewayUrl: values.COMPUTER_GATEWAY_URL ?? `ws://127.0.0.1:${values.COMPUTER_GATEWAY_PORT}`,
    region: values.COMPUTER_REGION,
    uidBase: values.COMPUTER_UID_BASE,
    engine:
      url && cert && key ? { url, cert, key, serverCert: values.ENGINE_SERVER_CERT ?? null } : null,
    poolSizeGb: values.COMPUTER_POOL_SIZE_GB ?? null,
    poolSource: values.COMPUTER_POOL_SOURCE ?? null,
    networkCidr: values.COMPUTER_NETWORK ?? null,
    databaseUrl: values.DATABASE_URL ?? null,
    logLevel: values.COMPUTER_LOG_LEVEL,
  }
}

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
const path = z.string().startsWith('/')

export const defaultDataDir = '/var/lib/computer'

export const HostName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be letters in lower case, digits and hyphens, such as host-2',
  )
export const HostAddress = z.string().transform((text, context) => {
  const [, address = '', digits = ''] = /^\[?([^[\]]*)\]?:(\d{1,5})$/.exec(text) ?? []
  if (isIP(address) !== 0 && Number(digits) <= 65_535) return { address, port: Number(digits) }
  context.addIssue('must be an address and a port, such as 10.0.0.1:7083')
  return z.NEVER
})

/**
 * The environment variables of the server. The table in docs/self-hosting.md is generated from their
 * descriptions. `unset` describes the effect of a variable that has no constant default.
 */
export const environment = z.object({
  COMPUTER_DATA: path.default(defaultDataDir).meta({
    description:
      'The data folder. Its path must be short, because it contains the socket of the engine',
  }),
  COMPUTER_IMAGE_CACHE: path.optional().meta({
    description: 'The folder for built machine images',
    unset: '`images` in the data folder',
  }),
  COMPUTER_BIND: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'The address that the API and the gateway listen on' }),
  COMPUTER_API_PORT: port.default(7080).meta({ description: 'The port of the API' }),
  COMPUTER_GATEWAY_PORT: port.default(7081).meta({ description: 'The port of the gateway' }),
  COMPUTER_METRICS_BIND: z.string().default('127.0.0.1').meta({
    description: 'The address that [metrics](operations.md#metrics) are served at',
  }),
  COMPUTER_METRICS_PORT: port.max(65533).default(7085).meta({
    description:
      'The port of the metrics of the API. Those of the gateway are at the next port, those of the worker at the one after it. `0`: none',
  }),
  COMPUTER_BASE_URL: httpUrl.optional().meta({
    description: 'The public address of the API. With https, cookies are `Secure`',
    unset: '`http://127.0.0.1` and the port of the API',
  }),
  COMPUTER_GATEWAY_URL: z.url().optional().meta({
    description: 'The public address of the gateway',
    unset: '`ws://127.0.0.1` and the port of the gateway',
  }),
  COMPUTER_DASHBOARD_URL: httpUrl.optional().meta({
    description:
      'The base of links for people: `/welcome`, `/accept-invitation`, `/reset-password` and the sign-in for previews',
    unset: 'the base URL',
  }),
  COMPUTER_ORIGINS: commaList(origin).optional().meta({
    description: 'Origins, separated by commas, whose pages may use the sign-in of a browser',
    unset:
      'the origin of the base URL, and the address that the request itself was sent to, if it is an IP address, `localhost` or has the host of the base URL or the dashboard',
  }),
  COMPUTER_TRUST_PROXY: commaList(network).optional().meta({
    description:
      'Addresses and networks of proxies, separated by commas, whose `x-forwarded-*` headers are trusted',
    unset: 'none',
  }),
  COMPUTER_WEBHOOK_NETWORKS: commaList(network).optional().meta({
    description:
      'Private addresses and networks, separated by commas, that webhooks may reach, also without https',
    unset: 'none',
  }),
  COMPUTER_SIGNUP: z.enum(['open', 'closed']).default('open').meta({
    description: '`closed`: an account requires an invitation or an operator',
  }),
  COMPUTER_SIGNUP_PLAN: z
    .enum(['free', 'developer', 'pro', 'startup', 'enterprise'])
    .default('free')
    .meta({ description: 'The plan of organizations that users create' }),
  COMPUTER_ORGANIZATIONS_PER_USER: z.coerce.number().int().min(1).default(5).meta({
    description: 'A user may own this many organizations, each with a plan of its own',
  }),
  COMPUTER_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be smtp:// or smtps://' })
    .optional()
    .meta({
      description: 'The mail server, such as `smtps://user:password@mail.example.com`',
      unset: 'none: no mail is sent',
    }),
  COMPUTER_MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*@[^\r\n]*$/, 'must be an address that mail is sent from')
    .optional()
    .meta({
      description: 'The sender of mails',
      unset: '`computer@` and the host of the base URL',
    }),
  COMPUTER_PREVIEW_DOMAIN: z
    .string()
    .max(200)
    .regex(
      /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
      'must be a domain in lower case, such as preview.example.com',
    )
    .optional()
    .meta({
      description:
        'The domain of [previews](previews.md#for-operators): each gets a subdomain of its own',
      unset: 'none: ports cannot be published',
    }),
  COMPUTER_PREVIEW_PORT: port
    .default(7082)
    .meta({ description: 'The port that the gateway serves previews on' }),
  COMPUTER_PREVIEW_PUBLIC_PORT: port.min(1).optional().meta({
    description: 'The port in the addresses of previews, if it is forwarded from another one',
    unset: 'the port of previews, or 443 behind a proxy',
  }),
  COMPUTER_PREVIEW_CERT: z.string().optional().meta({
    description: 'The file of the wildcard certificate for previews',
    unset: 'none',
  }),
  COMPUTER_PREVIEW_KEY: z
    .string()
    .optional()
    .meta({ description: 'The file of its private key', unset: 'none' }),
  COMPUTER_STRIPE_SECRET_KEY: z
    .string()
    .regex(/^[sr]k_\w+$/, 'must be a secret or restricted key of Stripe: sk_… or rk_…')
    .optional()
    .meta({
      description:
        'The key with which payments are [collected through Stripe](plans-and-billing.md#collect-payments-with-stripe)',
      unset: 'none: no payments are collected',
    }),
  COMPUTER_STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_\w+$/, 'must be the signing secret of a webhook endpoint: whsec_…')
    .optional()
    .meta({
      description: 'The secret with which Stripe signs what it sends to this server',
      unset: 'none',
    }),
  COMPUTER_STRIPE_API_URL: httpUrl.optional().meta({
    description: 'Another address of the API of Stripe, for tests',
    unset: "Stripe's own",
  }),
  COMPUTER_HOST: HostName.default('local').meta({
    description: 'The name under which the machines of this host are recorded. It never changes',
  }),
  COMPUTER_HOST_ADDRESS: HostAddress.optional().meta({
    description:
      'The address and port of this host that the processes of other hosts reach its machines at',
    unset: 'none: the server has one host',
  }),
  COMPUTER_REGION: z
    .string()
    .min(1)
    .max(63)
    .default('local')
    .meta({ description: 'The region of machines that request none' }),
  COMPUTER_UID_BASE: z.coerce.number().int().min(65_536).default(1_000_000).meta({
    description: 'The first host uid for machines. Each machine uses 65,536 uids above it',
  }),
  COMPUTER_POOL_SIZE_GB: z.coerce.number().int().min(5).optional().meta({
    description: 'The size of the file that holds the disks. It is sparse and grows with use',
    unset: 'four fifths of the free disk space',
  }),
  COMPUTER_POOL_SOURCE: z.string().startsWith('/dev/').optional().meta({
    description: 'A block device for the disks, instead of the file. **It is formatted**',
    unset: 'none',
  }),
  COMPUTER_NETWORK: z.cidrv4().optional().meta({
    description: 'The gateway and prefix of the network of machines, such as `10.88.0.1/20`',
    unset: 'a free private range',
  }),
  COMPUTER_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .meta({ description: '`debug`, `info`, `warn` or `error`' }),
  COMPUTER_LOGS: z.enum(['files', 'stdout']).default('files').meta({
    description:
      '`stdout`: the API, the gateway and the worker write [their logs](operations.md#logs) to the standard output of `computer up`, instead of to files in `logs/`',
  }),
  COMPUTER_TRACE: z.enum(['0', '1']).default('0').meta({
    description:
      '`1`: the services write to their logs [where the time of each request goes](operations.md#traces)',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().meta({
    description: 'The address of a collector that [spans are sent to](operations.md#traces)',
    unset: 'none',
  }),
  COMPUTER_DIRECT_AGENTS: z.enum(['0', '1']).default('1').meta({
    description:
      '`0`: the server reaches the agents in machines through the engine even on its own host, which is slower',
  }),
  COMPUTER_WARM_MACHINES: z.coerce.number().int().min(0).max(100).optional().meta({
    description:
      'This many [warm machines](self-hosting.md#warm-machines) are kept, which creates take; `0`: none',
    unset: '1, or 0 on a host with less than 6 GB of memory',
  }),
  COMPUTER_SECRETS_KEYRING: path.optional().meta({
    description: 'The keys that encrypt secrets. Servers that share a database share the keyring',
    unset: '`secrets.keyring` in the data folder',
  }),
  DATABASE_URL: z.string().optional().meta({
    description:
      'An external Postgres, 15 or later. A pooler must keep sessions, because the server uses LISTEN and prepared statements',
    unset: 'the embedded Postgres',
  }),
  COMPUTER_DB_CONNECTIONS: z.coerce.number().int().min(4).max(500).default(20).meta({
    description:
      'The most connections to Postgres that each process of the server opens: three processes on each host',
  }),
  ENGINE_URL: z
    .url()
    .optional()
    .meta({ description: 'An existing Incus server', unset: 'the private daemon' }),
  COMPUTER_ENGINE_DIR: path.optional().meta({
    description:
      'The folder of an existing Incus daemon on this host, such as `/var/lib/incus`: of the member of a cluster, for example',
    unset: 'the private daemon',
  }),
  COMPUTER_ENGINE_POOL: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,40}$/)
    .default('default')
    .meta({ description: 'The storage pool of an existing Incus daemon on this host' }),
  ENGINE_CERT: z.string().optional().meta({
    description: 'The file of a client certificate that this Incus server trusts',
    unset: 'none',
  }),
  ENGINE_KEY: z
    .string()
    .optional()
    .meta({ description: 'The file of its private key', unset: 'none' }),
  ENGINE_SERVER_CERT: z.string().optional().meta({
    description: 'The file of the certificate of this Incus server, if no authority signed it',
    unset: 'the authorities of the system',
  }),
})

/** Whether the text is exactly an Origin as browsers send it: no path, no default port, lower case. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  if (bits === 0 || rest.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
}

import type { PreviewId } from '@computer/contract'
import { randomBytes } from 'node:crypto'
import type { Config } from '../../config.ts'
import type { Database, MachineRow, PreviewRow } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'

/*
 * Hostnames of previews: a random label below the domain of the deployment. A label has 130 random bits
 * and contains no id, so it cannot be guessed and reveals nothing.
 */

export type PreviewDomain = NonNullable<Config['previews']>

const labelLength = 26
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const labelShape = new RegExp(`^[${alphabet}]{${labelLength}}$`)
/** Paths below it are served here and never reach a machine. */
export const reservedPath = '/.computer/'
export const accessPath = `${reservedPath}access`
/** The API path that redirects signed-in members back with an access link. */
export const exchangePath = '/v1/preview-exchange'

export function createLabel(): string {
  return Array.from(randomBytes(labelLength), (byte) => alphabet[byte % 32]).join('')
}

export function isLabel(text: string): boolean {
  return labelShape.test(text)
}

/**
 * The label in a host, with or without a port. Only the canonical spelling is accepted, even if DNS or
 * browsers treat others as equal.
 */
export function labelOfHost(
  { domain }: Pick<PreviewDomain, 'domain'>,
  host: string,
): string | null {
  const label = host.slice(0, labelLength)
  if (!isLabel(label) || !host.startsWith(`.${domain}`, labelLength)) return null
  const port = host.slice(labelLength + 1 + domain.length)
  return port === '' || isPortSuffix(port) ? label : null
}

function isPortSuffix(text: string): boolean {
  return /^:[1-9]\d{0,4}$/.test(text) && Number(text.slice(1)) <= 65_535
}

export function requirePreviewDomain({ previews }: Pick<Config, 'previews'>): PreviewDomain {
  if (previews) return previews
  throw new ApiError(
    'unsupported_operation',
    'this deployment cannot publish ports, because it has no preview domain (COMPUTER_PREVIEW_DOMAIN)',
  )
}

/** For previews published before the deployment lost its domain: a host that never resolves. */
const unreachable = { domain: 'invalid', publicPort: 443 }

export function previewUrl(
  domain: Pick<PreviewDomain, 'domain' | 'publicPort'> | null,
  label: string,
): string {
  const { domain: name, publicPort } = domain ?? unreachable
  return `https://${label}.${name}${publicPort === 443 ? '' : `:${publicPort}`}`
}

export function accessUrlOf(
  domain: PreviewDomain,
  label: string,
  token: string,
  path?: string,
): string {
  const query = new URLSearchParams({ token, ...(path !== undefined && { path }) })
  return `${previewUrl(domain, label)}${accessPath}?${query.toString()}`
}

/** A preview and the state of its machine. */
export type PreviewTarget = Pick<
  PreviewRow,
  'id' | 'organization_id' | 'machine_id' | 'port' | 'access' | 'label' | 'secret_hash'
> &
  Pick<MachineRow, 'state' | 'host' | 'generation' | 'boots'>

/** Excludes machines that are being deleted. */
export async function findTarget(db: Database, label: string): Promise<PreviewTarget | undefined> {
  return db
    .selectFrom('previews as p')
    .innerJoin('machines as m', 'm.id', 'p.machine_id')
    .select(['p.id', 'p.organization_id', 'p.machine_id', 'p.port', 'p.access', 'p.label'])
    .select(['p.secret_hash', 'm.state', 'm.host', 'm.generation', 'm.boots'])
    .where('p.label', '=', label)
    .where('m.deleted_at', 'is', null)
    .where('m.state', '!=', 'deleting')
    .executeTakeFirst()
}

/** The ids among these that are still published. */
export async function readPublished(
  db: Database,
  ids: readonly PreviewId[],
): Promise<ReadonlySet<PreviewId>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('previews as p')
    .innerJoin('machines as m', 'm.id', 'p.machine_id')
    .select('p.id')
    .where('p.id', 'in', ids)
    .where('m.deleted_at', 'is', null)
    .where('m.state', '!=', 'deleting')
    .execute()
  return new Set(rows.map(({ id }) => id))
}

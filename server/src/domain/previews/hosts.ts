import type { PreviewId } from '@computer/contract'
import { randomBytes } from 'node:crypto'
import type { Config } from '../../config.ts'
import type { Database, MachineRow, PreviewRow } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'

/*
 * Hostnames of previews: a random label below the domain of the deployment. A label has 130 bits and
 * none of our ids in it, so that it is not guessed and tells nothing.
 */

export type PreviewDomain = NonNullable<Config['previews']>

const labelLength = 26
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const labelShape = new RegExp(`^[${alphabet}]{${labelLength}}$`)
/** Nothing below it reaches a machine. */
export const reservedPath = '/.computer/'
export const accessPath = `${reservedPath}access`
/** Of the API: where members are sent to show who they are. */
export const exchangePath = '/v1/preview-exchange'

export function createLabel(): string {
  return Array.from(randomBytes(labelLength), (byte) => alphabet[byte % 32]).join('')
}

export function isLabel(text: string): boolean {
  return labelShape.test(text)
}

/**
 * The label of the preview that a host means, with or without a port. There is one spelling of it:
 * whatever only looks alike to DNS or a browser is no preview's host.
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
    'this deployment publishes no ports: it has no preview domain (COMPUTER_PREVIEW_DOMAIN)',
  )
}

/** Of a preview from when there was a domain, where now is none: an address that leads nowhere. */
const nowhere = { domain: 'invalid', publicPort: 443 }

export function previewUrl(
  domain: Pick<PreviewDomain, 'domain' | 'publicPort'> | null,
  label: string,
): string {
  const { domain: name, publicPort } = domain ?? nowhere
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

/** What a host leads to, and how the machine is. */
export type PreviewTarget = Pick<
  PreviewRow,
  'id' | 'organization_id' | 'machine_id' | 'port' | 'access' | 'label' | 'secret_hash'
> &
  Pick<MachineRow, 'state' | 'generation' | 'boots'>

/** A machine that is being deleted has no previews any more. */
export async function findTarget(db: Database, label: string): Promise<PreviewTarget | undefined> {
  return db
    .selectFrom('previews as p')
    .innerJoin('machines as m', 'm.id', 'p.machine_id')
    .select(['p.id', 'p.organization_id', 'p.machine_id', 'p.port', 'p.access', 'p.label'])
    .select(['p.secret_hash', 'm.state', 'm.generation', 'm.boots'])
    .where('p.label', '=', label)
    .where('m.deleted_at', 'is', null)
    .where('m.state', '!=', 'deleting')
    .executeTakeFirst()
}

/** Those of them that are published still. */
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

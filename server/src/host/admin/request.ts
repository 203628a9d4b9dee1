import {
  ApiKey,
  ApiKeyScope,
  BillingState,
  Email,
  OrganizationId,
  PersonName,
  Role,
  TemplateId,
  text,
} from '@computer/contract'
import { z } from 'zod'
import { HostName } from '../../environment.ts'
import { CatalogFile } from '../../domain/billing/catalog-file.ts'

const maxCents = 1_000_000_000

/** The request that `computer admin …` passes to main-admin.ts as its argument. Passwords use stdin. */
const requests = z.discriminatedUnion('command', [
  z.strictObject({
    command: z.literal('user create'),
    email: Email,
    name: PersonName.optional(),
    organization: z.strictObject({ id: OrganizationId, role: Role }).nullable(),
    isPasswordOnStdin: z.boolean(),
  }),
  z.strictObject({
    command: z.literal('user reset-password'),
    email: z.string(),
    isPasswordOnStdin: z.boolean(),
  }),
  z.strictObject({ command: z.literal('user disable'), email: z.string() }),
  z.strictObject({ command: z.literal('user enable'), email: z.string() }),
  z.strictObject({ command: z.literal('user list') }),
  z.strictObject({ command: z.literal('org list') }),
  z.strictObject({
    command: z.literal('org set-plan'),
    organizationId: OrganizationId,
    planId: z.string(),
    limits: z.record(z.string(), z.string()),
    immediate: z.boolean().default(false),
  }),
  z.strictObject({
    command: z.literal('org set-state'),
    organizationId: OrganizationId,
    state: BillingState.exclude(['trialing']),
  }),
  z.strictObject({
    command: z.literal('org set-trial'),
    organizationId: OrganizationId,
    planId: z.string(),
    limits: z.record(z.string(), z.string()),
    until: z.iso.datetime({ offset: true }),
  }),
  z.strictObject({ command: z.literal('catalog show') }),
  z.strictObject({
    command: z.literal('catalog apply'),
    catalog: CatalogFile,
    effectiveAt: z.iso.datetime({ offset: true }).nullable(),
  }),
  z.strictObject({
    command: z.literal('billing verify'),
    organizationId: OrganizationId.nullable(),
  }),
  z.strictObject({
    command: z.literal('billing adjust'),
    organizationId: OrganizationId,
    cents: z
      .int()
      .min(-maxCents)
      .max(maxCents)
      .refine((cents) => cents !== 0, 'must not be 0'),
    reason: text(500, 1),
  }),
  z.strictObject({
    command: z.literal('key create'),
    organizationId: OrganizationId.nullable(),
    name: ApiKey.shape.name,
    scopes: z.array(ApiKeyScope).min(1),
  }),
  z.strictObject({
    command: z.literal('template set-warm'),
    templateId: TemplateId,
    count: z.int().min(0).max(100),
  }),
  z.strictObject({ command: z.literal('status') }),
  z.strictObject({ command: z.literal('host list') }),
  z.strictObject({ command: z.literal('host add'), name: HostName }),
  z.strictObject({
    command: z.literal('host drain'),
    name: z.string(),
    isWaiting: z.boolean().default(true),
  }),
  z.strictObject({ command: z.literal('host undrain'), name: z.string() }),
  z.strictObject({ command: z.literal('host remove'), name: z.string() }),
  z.strictObject({ command: z.literal('host lost'), name: z.string() }),
  z.strictObject({ command: z.literal('login-link'), email: z.string().nullable() }),
  z.strictObject({ command: z.literal('secrets rotate'), newKey: z.boolean() }),
])
export type AdminRequest = z.infer<typeof requests>

/** The output of a command, for programs and for people. */
export type AdminAnswer = { readonly json: unknown; readonly text: string }

/** Throws an Error that names the invalid field and the problem. */
export function readRequest(json: string): AdminRequest {
  const parsed = requests.safeParse(JSON.parse(json))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(`${issue!.path.join('.')}: ${issue!.message}`)
}

import { z } from 'zod'

/** HTTP status of each error code (specification, Errors). */
export const errorStatus = {
  invalid_request: 400,
  unauthenticated: 401,
  quota_exceeded: 402,
  permission_denied: 403,
  not_found: 404,
  conflict: 409,
  precondition_failed: 412,
  rate_limited: 429,
  internal_error: 500,
  unsupported_operation: 501,
  compute_unavailable: 503,
} as const

export const ErrorCode = z
  .enum(Object.keys(errorStatus) as [keyof typeof errorStatus, ...(keyof typeof errorStatus)[]])
  .meta({ id: 'ErrorCode' })
export type ErrorCode = z.infer<typeof ErrorCode>

export const FieldError = z
  .object({
    field: z
      .string()
      .describe('Dotted path of the field in the request, such as "metadata.owner".'),
    message: z.string(),
  })
  .meta({ id: 'FieldError' })
export type FieldError = z.infer<typeof FieldError>

export const QuotaLimit = z.enum([
  'running_machines',
  'machines',
  'templates',
  'members',
  'concurrent_sessions',
  'snapshots_per_machine',
])
export type QuotaLimit = z.infer<typeof QuotaLimit>

export const Quota = z
  .object({
    limit: QuotaLimit.describe('The limit of the plan that was exceeded.'),
    current: z.int().min(0).describe('The amount in use.'),
    maximum: z.int().nullable().describe('The amount that the plan allows.'),
    plan_id: z.string(),
    upgrade_url: z.string().nullable(),
  })
  .meta({ id: 'Quota' })
export type Quota = z.infer<typeof Quota>

export const ErrorEnvelope = z
  .object({
    error: z.object({
      code: ErrorCode,
      message: z.string().describe('An explanation for people. Do not parse it; use code.'),
      request_id: z.string(),
      details: z.array(FieldError).optional(),
      quota: Quota.optional(),
    }),
  })
  .meta({ id: 'Error' })
export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>

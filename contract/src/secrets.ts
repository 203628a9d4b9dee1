import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const maxSecretBytes = 64 * 1024
export const maxSecretsPerMachine = 100
/** Limits the total of names and values, because every program in the machine starts with them. */
export const maxSecretBytesPerMachine = 1024 * 1024

/** The name of an environment variable. */
export const SecretName = z
  .string()
  .min(1)
  .max(255)
  .regex(
    /^[A-Z_][A-Z0-9_]*$/,
    'must be upper-case letters, digits and _, and not begin with a digit',
  )

/**
 * Variables that shells reserve, some of which evaluate the value assigned to them, and variables
 * that decide which programs run and as which user.
 */
export const reservedSecretNames = new RegExp(
  '^(BASH.*|COMP_.*|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTIND|PIPESTATUS|PPID|' +
    'RANDOM|SECONDS|SHELLOPTS|SRANDOM|UID|' +
    'ENV|HOME|IFS|LD_.*|LOGNAME|OLDPWD|PATH|PROMPT_COMMAND|PS[0-4]|PWD|SHELL|USER)$',
)

/** A secret without its value, which no response contains. */
export const Secret = z
  .object({
    name: SecretName,
    version: z.int().min(1).describe('Incremented by each replacement.'),
    delivered_at: Timestamp.nullable().describe(
      'Null until this version is delivered to the machine.',
    ),
  })
  .meta({ id: 'Secret' })
export type Secret = z.infer<typeof Secret>

export const SecretValue = text(maxSecretBytes).refine(
  (value) => new TextEncoder().encode(value).length <= maxSecretBytes,
  { message: 'must be at most 64 KB' },
)

export const PutSecret = z
  .strictObject({
    name: SecretName.refine((name) => !reservedSecretNames.test(name), {
      message: 'is reserved for shells and logins; choose another name',
    }).describe('The name of the environment variable in the machine.'),
    value: SecretValue.describe('The value: at most 64 KB of UTF-8 without NUL characters.'),
  })
  .meta({ id: 'PutSecretRequest' })
export type PutSecret = z.infer<typeof PutSecret>

const params = z.object({ machine_id: MachineId })
const path = '/v1/machines/{machine_id}/secrets'

export const secrets = {
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List the secrets of a machine, sorted by name. Values are never returned.',
    requires: 'member',
    params,
    query: PageQuery,
    status: 200,
    response: pageOf(Secret),
  }),
  put: endpoint({
    method: 'PUT',
    path,
    summary: 'Store or replace a secret. A running machine receives it within seconds.',
    requires: 'secrets:write',
    params,
    body: PutSecret,
    status: 200,
    response: Secret,
    audits: 'secret.stored',
  }),
  delete: endpoint({
    method: 'DELETE',
    path: `${path}/{name}`,
    summary:
      'Delete a secret from the server and from the running machine. Copies made inside the machine remain.',
    requires: 'secrets:write',
    params: params.extend({ name: SecretName }),
    status: 204,
    response: NoContent,
    audits: 'secret.deleted',
  }),
  listAll: endpoint({
    method: 'GET',
    path: '/v1/secrets',
    summary: 'List all secrets of the organization. Values are never returned.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(Secret.extend({ machine_id: MachineId })),
  }),
}

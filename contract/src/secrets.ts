import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const maxSecretBytes = 64 * 1024
export const maxSecretsPerMachine = 100
/** Of all names and values of a machine: every program there is started with them. */
export const maxSecretBytesPerMachine = 1024 * 1024

/** An environment variable's. */
export const SecretName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[A-Z_][A-Z0-9_]*$/, 'must be upper-case letters, digits and _, not a digit first')

/**
 * Variables that shells keep to themselves, some of which evaluate what is assigned to them, and those
 * that decide which programs run and as whom.
 */
const taken = new RegExp(
  '^(BASH.*|COMP_.*|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTIND|PIPESTATUS|PPID|' +
    'RANDOM|SECONDS|SHELLOPTS|SRANDOM|UID|' +
    'ENV|HOME|IFS|LD_.*|LOGNAME|OLDPWD|PATH|PROMPT_COMMAND|PS[0-4]|PWD|SHELL|USER)$',
)

/** What is told of a secret. Nothing that is answered anywhere can carry its value. */
export const Secret = z
  .object({
    name: SecretName,
    version: z.int().min(1).describe('Higher with every replacement.'),
    delivered_at: Timestamp.nullable().describe('Null while the machine has not got this version.'),
  })
  .meta({ id: 'Secret' })
export type Secret = z.infer<typeof Secret>

export const SecretValue = text(maxSecretBytes).refine(
  (value) => new TextEncoder().encode(value).length <= maxSecretBytes,
  { message: 'must have at most 64 KB' },
)

export const PutSecret = z
  .strictObject({
    name: SecretName.refine((name) => !taken.test(name), {
      message: 'is a variable that shells and logins keep to themselves; choose another name',
    }).describe('The environment variable that it becomes in the machine.'),
    value: SecretValue.describe('At most 64 KB of UTF-8, without NUL characters.'),
  })
  .meta({ id: 'PutSecretRequest' })
export type PutSecret = z.infer<typeof PutSecret>

const params = z.object({ machine_id: MachineId })
const path = '/v1/machines/{machine_id}/secrets'

export const secrets = {
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List the secrets of a machine, by name. Their values are never told.',
    requires: 'member',
    params,
    query: PageQuery,
    status: 200,
    response: pageOf(Secret),
  }),
  put: endpoint({
    method: 'PUT',
    path,
    summary: 'Store or replace a secret. A running machine has it within seconds.',
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
    summary: 'Delete a secret, here and in the running machine. Copies made there stay.',
    requires: 'secrets:write',
    params: params.extend({ name: SecretName }),
    status: 204,
    response: NoContent,
    audits: 'secret.deleted',
  }),
  listAll: endpoint({
    method: 'GET',
    path: '/v1/secrets',
    summary: 'List the name of every secret of the organization.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(Secret.extend({ machine_id: MachineId })),
  }),
}

import { z } from 'zod'
import { SecretName, SecretValue } from './secrets.ts'

/** The whole set of a machine's secrets. */
export const GuestSecrets = z.strictObject({
  /** Rises with every change of the set. The agent ignores a set older than its present one. */
  revision: z.int().min(0),
  secrets: z.array(z.strictObject({ name: SecretName, value: SecretValue })),
})
export type GuestSecrets = z.infer<typeof GuestSecrets>

export const GuestSecretsState = z.object({
  /** The revision of the present set; 0 if there is none. */
  revision: z.int().min(0),
  /** The machine has received its identity since it booted, so programs of users may start. */
  told: z.boolean(),
})
export type GuestSecretsState = z.infer<typeof GuestSecretsState>

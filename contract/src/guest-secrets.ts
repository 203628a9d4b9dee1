import { z } from 'zod'
import { SecretName, SecretValue } from './secrets.ts'

/** How the server hands a machine its secrets. */
export const guestSecretRoutes = {
  /** All of them at once: what is not named is taken away. Answers when the next program has them. */
  setSecrets: { method: 'PUT', path: '/secrets' },
  /** What is held; the values are never told. */
  readSecrets: { method: 'GET', path: '/secrets' },
} as const

export const GuestSecrets = z.strictObject({
  /** Higher with every change of the set. A set older than the one held changes nothing. */
  revision: z.int().min(0),
  secrets: z.array(z.strictObject({ name: SecretName, value: SecretValue })),
})
export type GuestSecrets = z.infer<typeof GuestSecrets>

export const GuestSecretsState = z.object({
  /** Of the set that is held; 0 where none is. */
  revision: z.int().min(0),
  /** The machine was told who it is since it booted: what users run there may begin. */
  told: z.boolean(),
})
export type GuestSecretsState = z.infer<typeof GuestSecretsState>

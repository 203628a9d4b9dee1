import { guestSecretRoutes, GuestSecretsState, type GuestSecrets } from '@computer/contract'
import type { GuestRef } from './channels.ts'
import type { CallJson, CallOptions } from './call.ts'

/** The agent's routes of secrets, as functions. */
export function secretCalls(callJson: CallJson) {
  return {
    /** The answer has the set that the machine now holds: a newer one is not replaced. */
    setSecrets: (ref: GuestRef, secrets: GuestSecrets, { signal }: CallOptions = {}) => {
      const body = Buffer.from(JSON.stringify(secrets))
      return callJson(ref, guestSecretRoutes.setSecrets, GuestSecretsState, { body, signal })
    },

    readSecrets: (ref: GuestRef, { signal }: CallOptions = {}) =>
      callJson(ref, guestSecretRoutes.readSecrets, GuestSecretsState, { signal }),
  }
}

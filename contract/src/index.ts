import { apiKeys } from './api-keys.ts'
import { auth } from './auth.ts'
import { desktop } from './desktop.ts'
import type { Endpoint } from './endpoint.ts'
import { events } from './events.ts'
import { exec } from './exec.ts'
import { files } from './files.ts'
import { images } from './images.ts'
import { machines } from './machines.ts'
import { inputLease, sessions } from './sessions.ts'

export * from './api-keys.ts'
export * from './auth.ts'
export * from './desktop-actions.ts'
export * from './desktop.ts'
export * from './endpoint.ts'
export * from './errors.ts'
export * from './events.ts'
export * from './exec.ts'
export * from './files.ts'
export * from './guest.ts'
export * from './ids.ts'
export * from './images.ts'
export * from './keys.ts'
export * from './list.ts'
export * from './machines.ts'
export * from './openapi.ts'
export * from './permissions.ts'
export * from './sessions.ts'
export * from './text.ts'

/** Every endpoint by its resource: what the server mounts and OpenAPI documents. */
export const endpoints = {
  auth,
  machines,
  images,
  desktop,
  exec,
  files,
  sessions,
  input_lease: inputLease,
  events,
  api_keys: apiKeys,
} as const satisfies Record<string, Record<string, Endpoint>>

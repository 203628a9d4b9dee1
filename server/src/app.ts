import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { Changes } from './db/changes.ts'
import type { Database } from './db/database.ts'
import type { MachineDriver } from './drivers/machine-driver.ts'
import type { GuestClient } from './guest/client.ts'
import type { PrincipalCache } from './http/principal-cache.ts'
import type { Timing } from './timing.ts'

/** What the server reaches outside itself, made in each main and handed down by hand. */
export type App = {
  readonly config: Config
  readonly timing: Timing
  readonly db: Database
  readonly changes: Changes
  readonly log: Logger
  /** Who calls this process, remembered for a moment. */
  readonly principals: PrincipalCache
  /** The agents inside the machines. */
  readonly guests: GuestClient
  /** The worker's alone: api and gateway reach machines through `guests`. */
  readonly driver: MachineDriver
}

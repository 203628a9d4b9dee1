import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { Changes } from './db/changes.ts'
import type { Database } from './db/database.ts'
import type { ActivityRecorder } from './domain/activity/recorder.ts'
import type { MachineDriver } from './drivers/machine-driver.ts'
import type { GuestClient } from './guest/client.ts'
import type { PrincipalCache } from './http/principal-cache.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { PaymentProvider } from './payments/provider.ts'
import type { Hosts } from './peers/hosts.ts'
import type { Timing } from './timing.ts'

/** The dependencies of a process, created in its main and passed down explicitly. */
export type App = {
  readonly config: Config
  readonly timing: Timing
  readonly db: Database
  readonly changes: Changes
  readonly log: Logger
  /** Short-lived cache of authenticated callers. */
  readonly principals: PrincipalCache
  /** The agents inside the machines. */
  readonly guests: GuestClient
  /** The engine of this host, used by its worker. */
  readonly driver: MachineDriver
  /** The hosts of machines, as this process reaches them. */
  readonly hosts: Hosts
  readonly payments: PaymentProvider
  readonly activity: ActivityRecorder
  readonly metrics: Metrics
}

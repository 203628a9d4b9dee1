import type { MachineId, OrganizationId } from '@computer/contract'
import type { App } from '../app.ts'
import type { ActivityRow } from '../db/database.ts'
import { readActivityAfter, readLastActivity } from '../domain/activity/outbox.ts'
import type { FeedReader } from './event-feed.ts'
import { FeedMap } from './feed-map.ts'

/** The activity of machines and of organizations, for all in this process who follow it. */
export class ActivityFeeds implements Disposable {
  readonly #app: Pick<App, 'db' | 'changes' | 'log'>
  readonly #ofMachines: FeedMap<ActivityRow>
  readonly #ofOrganizations: FeedMap<ActivityRow>
  readonly #unsubscribe: () => void

  constructor(app: Pick<App, 'db' | 'changes' | 'log'>) {
    this.#app = app
    this.#ofMachines = new FeedMap(app)
    this.#ofOrganizations = new FeedMap(app)
    this.#unsubscribe = app.changes.subscribe((organizationId) => {
      this.#ofOrganizations.wake(organizationId)
      // The organization is named, and its machines that are followed are few.
      this.#ofMachines.wakeAll()
    }, 'activity')
  }

  /** The position after which everything is new. */
  readLast(): Promise<number> {
    return readLastActivity(this.#app.db)
  }

  followMachine(
    reader: FeedReader<ActivityRow>,
    where: { readonly organizationId: OrganizationId; readonly machineId: MachineId },
    after: number,
  ): Promise<void> {
    return this.#ofMachines.follow(where.machineId, reader, after, {
      read: (from, limit) => readActivityAfter(this.#app.db, where, from, limit),
      cursorOf: (row) => row.position!,
    })
  }

  followOrganization(
    reader: FeedReader<ActivityRow>,
    organizationId: OrganizationId,
    after: number,
  ): Promise<void> {
    const where = { organizationId, machineId: null }
    return this.#ofOrganizations.follow(organizationId, reader, after, {
      read: (from, limit) => readActivityAfter(this.#app.db, where, from, limit),
      cursorOf: (row) => row.position!,
    })
  }

  [Symbol.dispose](): void {
    this.#unsubscribe()
    this.#ofMachines[Symbol.dispose]()
    this.#ofOrganizations[Symbol.dispose]()
  }
}

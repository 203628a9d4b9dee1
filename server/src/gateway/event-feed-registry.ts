import type { MachineId, OrganizationId } from '@computer/contract'
import type { App } from '../app.ts'
import type { EventRow } from '../db/database.ts'
import { readMachineEvents, readOrganizationEvents } from '../domain/events/outbox.ts'
import { encodeCursor } from '../domain/page.ts'
import { showEvent } from '../domain/events/show-event.ts'
import type { Connection } from './connection.ts'
import { sendTo } from './connection-reader.ts'
import { FeedMap } from './feed-map.ts'

/** The events of machines and of organizations. */
export class EventFeedRegistry implements Disposable {
  readonly #app: Pick<App, 'db' | 'changes' | 'log'>
  readonly #feeds: FeedMap<EventRow>
  readonly #unsubscribe: readonly (() => void)[]

  constructor(app: Pick<App, 'db' | 'changes' | 'log'>) {
    this.#app = app
    this.#feeds = new FeedMap(app)
    const wake = (id: string) => this.#feeds.wake(id)
    this.#unsubscribe = [app.changes.subscribe(wake), app.changes.subscribe(wake, 'events')]
  }

  followMachine(
    connection: Connection,
    where: { readonly organizationId: OrganizationId; readonly machineId: MachineId },
    after: number,
  ): Promise<void> {
    const reader = sendTo<EventRow>(connection, {
      show: showEvent,
      isLast: (row) => row.type === 'machine.deleted',
    })
    return this.#feeds.follow(where.machineId, reader, after, {
      read: (after, limit) => readMachineEvents(this.#app.db, where, after, limit),
      cursorOf: (row) => row.sequence,
    })
  }

  followOrganization(connection: Connection, id: OrganizationId, after: number): Promise<void> {
    const reader = sendTo<EventRow>(connection, {
      show: (row) => ({ ...showEvent(row), cursor: encodeCursor(String(row.position)) }),
    })
    return this.#feeds.follow(id, reader, after, {
      read: (after, limit) => readOrganizationEvents(this.#app.db, id, after, limit),
      cursorOf: (row) => row.position!,
    })
  }

  [Symbol.dispose](): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#feeds[Symbol.dispose]()
  }
}

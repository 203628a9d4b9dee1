import type { MachineId, OrganizationId } from '@computer/contract'
import type { App } from '../app.ts'
import type { EventRow } from '../db/database.ts'
import { readMachineEvents, readOrganizationEvents } from '../domain/events/outbox.ts'
import { encodeCursor } from '../domain/page.ts'
import { showEvent } from '../http/show-event.ts'
import type { Connection } from './connection.ts'
import { EventFeed, type EventSource } from './event-feed.ts'

/** One feed for each machine and organization that is being followed through this process. */
export class EventFeedRegistry implements Disposable {
  readonly #app: Pick<App, 'db' | 'changes' | 'log'>
  readonly #feeds = new Map<string, EventFeed<EventRow>>()
  readonly #unsubscribe: readonly (() => void)[]

  constructor(app: Pick<App, 'db' | 'changes' | 'log'>) {
    this.#app = app
    const wake = (id: string) => this.#feeds.get(id)?.wake()
    this.#unsubscribe = [app.changes.subscribe(wake), app.changes.subscribe(wake, 'events')]
  }

  followMachine(
    connection: Connection,
    where: { readonly organizationId: OrganizationId; readonly machineId: MachineId },
    after: number,
  ): Promise<void> {
    return this.#follow(where.machineId, connection, after, {
      read: (after, limit) => readMachineEvents(this.#app.db, where, after, limit),
      cursorOf: (row) => row.sequence,
      isLast: (row) => row.type === 'machine.deleted',
      show: showEvent,
    })
  }

  followOrganization(connection: Connection, id: OrganizationId, after: number): Promise<void> {
    return this.#follow(id, connection, after, {
      read: (after, limit) => readOrganizationEvents(this.#app.db, id, after, limit),
      cursorOf: (row) => row.position!,
      isLast: () => false,
      show: (row) => ({ ...showEvent(row), cursor: encodeCursor(String(row.position)) }),
    })
  }

  [Symbol.dispose](): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    for (const feed of this.#feeds.values()) feed[Symbol.dispose]()
  }

  async #follow(id: string, connection: Connection, after: number, source: EventSource<EventRow>) {
    const feed = this.#feeds.get(id) ?? new EventFeed(this.#app, source)
    this.#feeds.set(id, feed)
    try {
      await feed.follow(connection, after)
    } finally {
      if (feed.isIdle && this.#feeds.get(id) === feed) {
        this.#feeds.delete(id)
        feed[Symbol.dispose]()
      }
    }
  }
}

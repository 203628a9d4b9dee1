import type { MachineId } from '@computer/contract'
import type { MachineKey } from '../../domain/find-machine.ts'
import type { Connection } from '../connection.ts'
import type { ActivityFeeds } from '../activity-feeds.ts'
import { ScreenHub, type ScreenHubApp, type ScreenViewer } from './hub.ts'

/** One hub for each machine that is being watched through this process. */
export class ScreenHubRegistry implements Disposable {
  readonly #app: ScreenHubApp
  readonly #activity: ActivityFeeds
  readonly #hubs = new Map<MachineId, ScreenHub>()

  constructor(app: ScreenHubApp, activity: ActivityFeeds) {
    this.#app = app
    this.#activity = activity
  }

  join(
    connection: Connection,
    machine: MachineKey & { readonly name: string },
    viewer: Omit<ScreenViewer, 'machineName'>,
  ): void {
    const { id, organizationId } = machine
    const hub =
      this.#hubs.get(id) ?? new ScreenHub(this.#app, { id, organizationId }, this.#activity)
    this.#hubs.set(id, hub)
    hub.join(connection, { ...viewer, machineName: machine.name }, () => {
      if (!hub.isIdle || this.#hubs.get(id) !== hub) return
      this.#hubs.delete(id)
      hub[Symbol.dispose]()
    })
  }

  [Symbol.dispose](): void {
    for (const hub of this.#hubs.values()) hub[Symbol.dispose]()
    this.#hubs.clear()
  }
}

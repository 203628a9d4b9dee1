import type { MachineId, SessionId } from '@computer/contract'
import type { App } from '../../app.ts'
import type { MachineKey } from '../../domain/find-machine.ts'
import type { Connection } from '../connection.ts'
import { ScreenHub } from './hub.ts'

/** One hub for each machine that is being watched through this process. */
export class ScreenHubRegistry implements Disposable {
  readonly #app: Pick<App, 'db' | 'guests' | 'changes' | 'log' | 'activity'>
  readonly #hubs = new Map<MachineId, ScreenHub>()

  constructor(app: Pick<App, 'db' | 'guests' | 'changes' | 'log' | 'activity'>) {
    this.#app = app
  }

  join(
    connection: Connection,
    machine: MachineKey & { readonly name: string },
    inputSession: SessionId | null,
  ): void {
    const { id, organizationId } = machine
    const hub = this.#hubs.get(id) ?? new ScreenHub(this.#app, { id, organizationId })
    this.#hubs.set(id, hub)
    hub.join(connection, machine.name, inputSession, () => {
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

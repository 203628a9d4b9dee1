import type { App } from '../../app.ts'
import type { MachineKey } from '../../domain/find-machine.ts'
import { guestRef } from '../../domain/guests/calls.ts'
import { pushFence } from '../../domain/control/leases.ts'
import { showLease } from '../../http/show-lease.ts'
import type { Connection } from '../connection.ts'
import type { Cursor } from '../rfb/viewer.ts'
import { MachineWatch, type Seen } from './machine-watch.ts'
import { ScreenFeed } from './screen-feed.ts'
import type { Change } from './screen-store.ts'
import { ScreenViewer } from './viewer.ts'
import { ViewerInput, type InputPath } from './viewer-input.ts'

/**
 * All who view one machine through this process. They share one stream to its agent, one store of what
 * is on its screen and one look at its rows. The agent goes on as soon as the fastest of them has what
 * it sent: nothing is captured for nobody, and nobody waits for a slower one.
 */
export class ScreenHub implements Disposable {
  readonly #app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>
  readonly #key: MachineKey
  readonly #feed: ScreenFeed
  readonly #watch: MachineWatch
  readonly #viewers = new Map<number, ScreenViewer>()
  #joined = 0
  #cursor: Cursor | null = null
  #seen: Seen | null = null

  constructor(app: Pick<App, 'db' | 'guests' | 'changes' | 'log'>, key: MachineKey) {
    this.#app = app
    this.#key = key
    this.#feed = new ScreenFeed(app, {
      onFrame: (change) => this.#showFrame(change),
      onCursor: (cursor) => {
        this.#cursor = cursor
        for (const viewer of this.#viewers.values()) viewer.setCursor(cursor)
      },
      onCopiedText: (text) => {
        for (const viewer of this.#viewers.values()) viewer.giveCopiedText(text)
      },
      onRefused: (refused) => this.#viewers.get(refused.viewer)?.input?.refuse(refused),
    })
    this.#watch = new MachineWatch(app, key, (seen) => this.#see(seen))
  }

  get isIdle(): boolean {
    return this.#viewers.size === 0
  }

  /** `onLeave` is called when the connection has closed. */
  join(connection: Connection, machineName: string, onLeave: () => void): void {
    const number = ++this.#joined
    const { sessionId, controls } = connection.footing
    const viewer: ScreenViewer = new ScreenViewer({
      connection,
      machineName,
      store: this.#feed.store,
      input:
        sessionId && controls ? new ViewerInput(sessionId, connection, this.#path(number)) : null,
      onUpToDate: () => this.#feed.acknowledge(),
      onFailure: (error) => {
        this.#app.log.error(
          { err: error, machine_id: this.#key.id },
          'a viewer was closed for a failure',
        )
      },
    })
    this.#viewers.set(number, viewer)
    connection.onClose(() => {
      viewer.input?.close()
      this.#viewers.delete(number)
      onLeave()
    })
    if (this.#feed.store.geometry && this.#feed.epoch !== null) this.#begin(viewer, nothingNew)
    this.#watch.look()
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]()
    this.#feed[Symbol.dispose]()
  }

  #path(viewer: number): InputPath {
    const feed = this.#feed
    return {
      get epoch() {
        return feed.epoch
      },
      confirmLease: () => this.#confirmLease(),
      send: (fence, event) => feed.sendInput(viewer, fence, event),
      drained: () => feed.drained(),
    }
  }

  async #confirmLease() {
    const machine = this.#seen?.machine
    if (!machine) return null
    const atMs = performance.now()
    try {
      return { lease: await pushFence(this.#app, machine), atMs }
    } catch (error) {
      this.#app.log.warn({ err: error, machine_id: machine.id }, 'a lease could not be confirmed')
      return null
    }
  }

  #showFrame(change: Change): void {
    for (const viewer of this.#viewers.values()) {
      if (change.isFresh) this.#begin(viewer, change)
      else viewer.show(change)
    }
    // Nobody has to take what changed nothing.
    if (!change.isFresh && change.tiles.length === 0) this.#feed.acknowledge()
  }

  #begin(viewer: ScreenViewer, change: Change): void {
    viewer.begin(change, this.#cursor)
    if (this.#seen) this.#tell(viewer, this.#seen)
  }

  #see(seen: Seen): void {
    const { machine, lease, atMs } = seen
    this.#seen = seen
    // A machine that shuts down shows it for as long as it can.
    if (machine?.state === 'running') this.#feed.follow(guestRef(machine))
    else if (machine?.state !== 'stopping') this.#feed.follow(null)
    for (const viewer of this.#viewers.values()) {
      this.#tell(viewer, seen)
      viewer.input?.judge(lease, atMs)
    }
  }

  #tell(viewer: ScreenViewer, { machine, lease }: Seen): void {
    if (machine) viewer.tell(machine.state, showLease(machine.id, lease))
  }
}

/** For a viewer that joins: it has nothing yet. */
const nothingNew: Change = { isFresh: true, isResized: false, tiles: [] }

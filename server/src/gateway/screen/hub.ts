import type { SessionId } from '@computer/contract'
import type { App } from '../../app.ts'
import { pushFence } from '../../domain/control/leases.ts'
import { maySee } from '../../domain/control/looks.ts'
import type { MachineKey } from '../../domain/find-machine.ts'
import { guestRef } from '../../domain/guests/calls.ts'
import { showLease } from '../../http/show-lease.ts'
import type { ActivityFeeds } from '../activity-feeds.ts'
import type { Connection } from '../connection.ts'
import type { Cursor } from '../rfb/cursor.ts'
import { AgentGhosts } from './agent-ghosts.ts'
import { AgentStream } from './agent-stream.ts'
import { ClientInput, type ConfirmedLease } from './client-input.ts'
import { ScreenClient } from './client.ts'
import type { FramebufferChange } from './framebuffer.ts'
import { MachineWatch, type MachineSnapshot } from './machine-watch.ts'
import type { PointerOwner } from './pointer-owner.ts'
import { Pointers } from './pointers.ts'
import { ViewerActivity } from './viewer-activity.ts'

export type ScreenHubApp = Pick<App, 'db' | 'guests' | 'changes' | 'log' | 'activity' | 'timing'>

export type ScreenViewer = {
  readonly machineName: string
  /** Null for a view-only client. */
  readonly inputSession: SessionId | null
  readonly owner: PointerOwner
}

/**
 * All clients of one machine's screen in this process. They share one stream to its agent, one
 * framebuffer and one watch of its rows. The agent goes on to the next frame as soon as the fastest
 * client has the last one: no frame is captured in vain, and no client waits for a slower one.
 *
 * While the screen is private, all clients are of its session, and so is the stream. The stream of a hub that has not
 * read that yet ends with the fence, before anything private is shown: the agent sends it to that session alone.
 */
export class ScreenHub implements Disposable {
  readonly #app: ScreenHubApp
  readonly #key: MachineKey
  readonly #agent: AgentStream
  readonly #watch: MachineWatch
  readonly #clients = new Map<number, ScreenClient>()
  readonly #ghosts: AgentGhosts
  readonly #pointers: Pointers
  #lastNumber = 0
  #cursor: Cursor | null = null
  #snapshot: MachineSnapshot | null = null

  constructor(app: ScreenHubApp, key: MachineKey, activity: ActivityFeeds) {
    this.#app = app
    this.#key = key
    this.#agent = new AgentStream(app, {
      onFrame: (change) => this.#showFrame(change),
      onCursor: (cursor) => {
        this.#cursor = cursor
        for (const client of this.#viewers()) client.setCursor(cursor)
      },
      onCopiedText: (text) => {
        for (const client of this.#viewers()) client.sendCopiedText(text)
      },
      onRefused: (refused) => this.#clients.get(refused.viewer)?.input.onRefused(refused),
      onPrivate: () => this.#watch.refresh(),
    })
    this.#ghosts = new AgentGhosts(app, key, activity, () => this.#pointers.change())
    this.#pointers = new Pointers(this.#ghosts)
    this.#watch = new MachineWatch(app, key, (snapshot) => this.#update(snapshot))
  }

  get isIdle(): boolean {
    return this.#clients.size === 0
  }

  /** `onLeave` runs when the connection has closed. */
  join(
    connection: Connection,
    { machineName, inputSession, owner }: ScreenViewer,
    onLeave: () => void,
  ): void {
    const number = ++this.#lastNumber
    const { actor } = connection.authorization
    const activity =
      inputSession &&
      new ViewerActivity(this.#app.activity, {
        actor,
        machineId: this.#key.id,
        sessionId: inputSession,
      })
    const client = new ScreenClient({
      connection,
      machineName,
      framebuffer: this.#agent.framebuffer,
      input: new ClientInput({
        connection,
        sessionId: inputSession,
        viewer: number,
        agent: this.#agent,
        onPoint: this.#pointers.add(connection, `viewer_${number}`, owner),
        onSent: (event) => activity?.note(event),
        confirmLease: () => this.#confirmLease(),
      }),
      onUpToDate: () => this.#agent.acknowledge(),
      onFailure: (error) => {
        this.#app.log.error(
          { err: error, machine_id: this.#key.id },
          'could not show the screen to a client; disconnected it',
        )
      },
    })
    this.#clients.set(number, client)
    connection.onClose(() => {
      client.input.close()
      activity?.flush()
      this.#clients.delete(number)
      onLeave()
    })
    const isShown = this.#agent.framebuffer.geometry && this.#agent.current
    if (isShown && this.#isViewer(client)) this.#begin(client, nothingNew)
    this.#watch.refresh()
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]()
    this.#ghosts[Symbol.dispose]()
    this.#pointers[Symbol.dispose]()
    this.#agent[Symbol.dispose]()
  }

  async #confirmLease(): Promise<ConfirmedLease | null> {
    const machine = this.#snapshot?.machine
    if (!machine) return null
    const atMs = performance.now()
    try {
      return { lease: await pushFence(this.#app, machine), atMs }
    } catch (error) {
      this.#app.log.warn(
        { err: error, machine_id: machine.id },
        'could not confirm the input lease; input is dropped until it can be',
      )
      return null
    }
  }

  #showFrame(change: FramebufferChange): void {
    for (const client of this.#viewers()) {
      if (change.isFresh) this.#begin(client, change)
      else client.show(change)
    }
    // No client is going to take a frame that changed nothing.
    if (!change.isFresh && change.tiles.length === 0) this.#agent.acknowledge()
  }

  #viewers(): ScreenClient[] {
    return [...this.#clients.values()].filter((client) => this.#isViewer(client))
  }

  /** A client that is not, for it joined after the last snapshot, is excluded by the next or becomes one. */
  #isViewer(client: ScreenClient): boolean {
    return this.#snapshot === null || maySee(this.#snapshot.lease, client.sessionId)
  }

  #begin(client: ScreenClient, change: FramebufferChange): void {
    client.begin(change, this.#cursor)
    if (this.#snapshot) this.#sendState(client, this.#snapshot)
  }

  #update(snapshot: MachineSnapshot): void {
    const { machine } = snapshot
    const before = this.#snapshot?.machine
    this.#snapshot = snapshot
    // A restore disconnects everything that is open on the machine (specification, States, rule 4).
    if (before && machine && before.generation !== machine.generation) this.#disconnectAll()
    for (const client of this.#clients.values()) if (!this.#isViewer(client)) client.exclude()
    this.#follow(snapshot)
    for (const client of this.#clients.values()) {
      this.#sendState(client, snapshot)
      client.input.observeLease(snapshot)
    }
  }

  #follow({ machine, lease: { privateTo: viewer } }: MachineSnapshot): void {
    if (this.#agent.viewer !== viewer) this.#cursor = null
    if (machine?.state === 'running') return this.#agent.follow({ ref: guestRef(machine), viewer })
    // While the machine shuts down, show it for as long as the agent responds, to the same viewers.
    const isShown = machine?.state === 'stopping' && this.#agent.viewer === viewer
    if (!isShown) this.#agent.follow(null)
  }

  #disconnectAll(): void {
    for (const client of this.#clients.values()) {
      client.disconnect('the machine was restored; connect again')
    }
  }

  #sendState(client: ScreenClient, { machine, lease }: MachineSnapshot): void {
    if (machine) client.sendState(machine.state, showLease(machine.id, lease))
  }
}

/** For a client that joins: its session begins with the whole framebuffer anyway. */
const nothingNew: FramebufferChange = { isFresh: true, isResized: false, tiles: [] }

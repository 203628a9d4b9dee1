import { ScreenPlace, type ScreenPointer } from '@computer/contract'
import type { App } from '../../app.ts'
import type { ActivityRow } from '../../db/database.ts'
import type { MachineKey } from '../../domain/find-machine.ts'
import type { ActivityFeeds } from '../activity-feeds.ts'
import type { FeedReader } from '../event-feed.ts'
import { cutName } from './pointer-owner.ts'

/** Where the entries of the activity log tell a place of the pointer (api/recorders.ts). */
const placeIn: Readonly<Record<string, (data: ActivityRow['data']) => unknown>> = {
  'mouse.moved': (data) => ({ x: data['x'], y: data['y'] }),
  'mouse.clicked': (data) => data['at'],
  'mouse.dragged': (data) => data['to'],
  'mouse.scrolled': (data) => data['at'],
}

type Ghost = { readonly pointer: ScreenPointer; readonly expiry: NodeJS.Timeout }

/**
 * The pointers of those who act on a machine through the API, for a few seconds after each action. Another process
 * serves their calls, so they are read from the activity of the organization, a moment after they were made. The
 * hubs of an organization share its feed.
 */
export class AgentGhosts implements Disposable {
  readonly #app: Pick<App, 'log' | 'timing'>
  readonly #key: MachineKey
  readonly #feeds: ActivityFeeds
  readonly #onChange: () => void
  readonly #ghosts = new Map<string, Ghost>()
  readonly #closing = Promise.withResolvers<void>()
  #isDisposed = false

  constructor(
    app: Pick<App, 'log' | 'timing'>,
    key: MachineKey,
    feeds: ActivityFeeds,
    onChange: () => void,
  ) {
    this.#app = app
    this.#key = key
    this.#feeds = feeds
    this.#onChange = onChange
    void this.#follow()
  }

  /** The ghost that acted last comes last. */
  get shown(): readonly ScreenPointer[] {
    return [...this.#ghosts.values()].map(({ pointer }) => pointer)
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#closing.resolve()
    for (const { expiry } of this.#ghosts.values()) clearTimeout(expiry)
    this.#ghosts.clear()
  }

  async #follow(): Promise<void> {
    const isOpen = () => !this.#isDisposed
    const reader: FeedReader<ActivityRow> = {
      get isOpen() {
        return isOpen()
      },
      take: (row) => this.#take(row),
      onClose: (listener) => void this.#closing.promise.then(listener),
    }
    try {
      const after = await this.#feeds.readLast()
      await this.#feeds.followOrganization(reader, this.#key.organizationId, after)
    } catch (error) {
      this.#app.log.warn(
        { err: error, machine_id: this.#key.id },
        'could not follow activity; the pointers of agents are not shown',
      )
    }
  }

  #take(row: ActivityRow): void {
    const { actor_id: actorId, actor_name: name, actor_type: type } = row
    const isElsewhere = row.machine_id !== this.#key.id || !Object.hasOwn(placeIn, row.type)
    if (this.#isDisposed || isElsewhere || actorId === null || name === null) return
    const id = row.session_id ?? actorId
    const at = this.#placeOf(row, id)
    if (!at) return
    clearTimeout(this.#ghosts.get(id)?.expiry)
    this.#ghosts.delete(id)
    this.#ghosts.set(id, {
      pointer: {
        id,
        name: cutName(name),
        kind: type === 'api_key' ? 'agent' : 'person',
        session_id: row.session_id,
        at,
        clicked: row.type === 'mouse.clicked',
      },
      expiry: setTimeout(() => this.#expire(id), this.#app.timing.ghostMs),
    })
    this.#onChange()
  }

  /** A click without a place is where its agent pointed before, if that is still shown. */
  #placeOf({ type, data }: ActivityRow, id: string): ScreenPlace | undefined {
    const place = placeIn[type]!(data)
    if (place === undefined) return this.#ghosts.get(id)?.pointer.at
    return ScreenPlace.safeParse(place).data
  }

  #expire(id: string): void {
    this.#ghosts.delete(id)
    this.#onChange()
  }
}

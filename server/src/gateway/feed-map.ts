import type { App } from '../app.ts'
import { EventFeed, type EventSource, type FeedReader } from './event-feed.ts'

/** One feed for each subject that is being followed through this process. */
export class FeedMap<Row> implements Disposable {
  readonly #app: Pick<App, 'log'>
  readonly #feeds = new Map<string, EventFeed<Row>>()

  constructor(app: Pick<App, 'log'>) {
    this.#app = app
  }

  /** There may be new rows of that subject. */
  wake(id: string): void {
    this.#feeds.get(id)?.wake()
  }

  wakeAll(): void {
    for (const feed of this.#feeds.values()) feed.wake()
  }

  /** Resolves when the reader has closed. */
  async follow(
    id: string,
    reader: FeedReader<Row>,
    after: number,
    source: EventSource<Row>,
  ): Promise<void> {
    const feed = this.#feeds.get(id) ?? new EventFeed(this.#app, source)
    this.#feeds.set(id, feed)
    try {
      await feed.follow(reader, after)
    } finally {
      if (feed.isIdle && this.#feeds.get(id) === feed) {
        this.#feeds.delete(id)
        feed[Symbol.dispose]()
      }
    }
  }

  [Symbol.dispose](): void {
    for (const feed of this.#feeds.values()) feed[Symbol.dispose]()
  }
}

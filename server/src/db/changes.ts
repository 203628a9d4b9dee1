import { sql } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import { throttle } from '../pace.ts'
import type { Database } from './database.ts'

/**
 * Topics of notifications: ids of machines whose row changed; ids of machines that have begun to boot; ids
 * of organizations with new events that can be read; whose activity was written and has no position yet; with
 * new activity that can be read, or with webhook deliveries that are due; principals, when any permission changed.
 */
const topics = [
  'machines',
  'boots',
  'events',
  'unplaced',
  'activity',
  'deliveries',
  'principals',
] as const
export type Topic = (typeof topics)[number]
type Listener = (id: string) => void

/** Each NOTIFY is a commit and wakes every process, so those of a burst are sent together. */
const sendEveryMs = 5

/**
 * Notifications of changed rows between all processes of the service. They may be lost, so every waiter
 * also polls: the row is the truth. They are sent after the commit and in batches, never inside a
 * transaction, where NOTIFY would serialise all writers.
 */
export class Changes implements AsyncDisposable {
  readonly #db: Database
  readonly #log: Logger
  readonly #url: string
  readonly #listeners = makeSets<Listener>()
  readonly #pending = makeSets<string>()
  readonly #turn = throttle(sendEveryMs)
  #sending: Promise<void> | null = null
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  constructor(options: { db: Database; databaseUrl: string; log: Logger }) {
    this.#db = options.db
    this.#url = options.databaseUrl
    this.#log = options.log
  }

  /** Notifies every process, this one included. Call it after the commit. */
  publish(id: string, topic: Topic = 'machines'): void {
    if (this.#closed) return
    this.#pending[topic].add(id)
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null
    })
  }

  /** Calls the listener on every notification until the returned function is called. */
  subscribe(listener: Listener, topic: Topic = 'machines'): () => void {
    this.#listeners[topic].add(listener)
    return () => this.#listeners[topic].delete(listener)
  }

  /** Starts listening; reconnects until it is disposed of. */
  async listen(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url })
    client.on('error', (error) => this.#reconnect(client, error))
    client.on('end', () => this.#reconnect(client))
    client.on('notification', ({ channel, payload }) => {
      const listeners = this.#listeners[channel as Topic]
      for (const id of (payload ?? '').split(',')) {
        for (const listener of listeners) listener(id)
      }
    })
    try {
      await client.connect()
      for (const topic of topics) await client.query(`listen ${topic}`)
    } catch (error) {
      // A database that does not answer may not close the connection either, and the next attempt must not wait for it.
      client.end().catch(() => {})
      throw error
    }
    if (this.#closed) await client.end()
    else this.#client = client
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    if (this.#retry) clearTimeout(this.#retry)
    await this.#sending
    await this.#client?.end()
  }

  async #send(): Promise<void> {
    // Waits for one turn of the loop, so that concurrent commits share a notification.
    await new Promise(setImmediate)
    for (let topic = this.#nextTopic(); topic; topic = this.#nextTopic()) {
      await this.#turn()
      const pending = this.#pending[topic]
      const ids = [...pending].slice(0, 200)
      for (const id of ids) pending.delete(id)
      try {
        await sql`select pg_notify(${topic}, ${ids.join(',')})`.execute(this.#db)
      } catch (error) {
        this.#log.warn({ err: error }, 'could not send a notification; polls will find the change')
      }
    }
  }

  #nextTopic(): Topic | undefined {
    return topics.find((topic) => this.#pending[topic].size > 0)
  }

  #reconnect(client: pg.Client, error?: Error): void {
    if (this.#closed || client !== this.#client) return
    this.#client = null
    this.#log.warn(
      { err: error },
      'lost the connection that listens for notifications; reconnecting',
    )
    const attempt = () => {
      this.listen().catch(() => {
        if (!this.#closed) this.#retry = setTimeout(attempt, 1000)
      })
    }
    attempt()
  }
}

/** An empty set for each topic. */
function makeSets<T>(): Readonly<Record<Topic, Set<T>>> {
  const sets = topics.map((topic) => [topic, new Set<T>()] as const)
  return Object.fromEntries(sets) as Record<Topic, Set<T>>
}

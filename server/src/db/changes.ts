import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Database } from './database.ts'

/**
 * Hints that a machine's row changed, between all processes of the service. A hint may be lost, so
 * whoever waits also polls: the row is the truth. Hints are sent after the commit and in batches,
 * never inside a transaction, where NOTIFY would serialise every writer.
 */
export class Changes implements AsyncDisposable {
  readonly #db: Database
  readonly #log: Logger
  readonly #url: string
  readonly #listeners = new Set<(id: MachineId) => void>()
  #pending = new Set<MachineId>()
  #sending: Promise<void> | null = null
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  constructor(options: { db: Database; databaseUrl: string; log: Logger }) {
    this.#db = options.db
    this.#url = options.databaseUrl
    this.#log = options.log
  }

  /** Tells every process, this one included. Call it after the commit. */
  publish(id: MachineId): void {
    if (this.#closed) return
    this.#pending.add(id)
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null
    })
  }

  /** Calls back on every hint until the returned function is called. */
  subscribe(listener: (id: MachineId) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Starts listening; reconnects for as long as it is open. */
  async listen(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url })
    client.on('error', (error) => this.#reconnect(client, error))
    client.on('end', () => this.#reconnect(client))
    client.on('notification', ({ payload }) => {
      for (const id of (payload ?? '').split(',')) this.#tell(id as MachineId)
    })
    await client.connect()
    await client.query('listen machines')
    this.#client = client
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    if (this.#retry) clearTimeout(this.#retry)
    await this.#sending
    await this.#client?.end()
  }

  async #send(): Promise<void> {
    // One turn of the loop, so that what commits together is told together.
    await new Promise(setImmediate)
    while (this.#pending.size > 0) {
      const ids = [...this.#pending].slice(0, 200)
      for (const id of ids) this.#pending.delete(id)
      try {
        await sql`select pg_notify('machines', ${ids.join(',')})`.execute(this.#db)
      } catch (error) {
        this.#log.warn({ err: error }, 'a change was not announced; the poll will find it')
      }
    }
  }

  #tell(id: MachineId): void {
    for (const listener of this.#listeners) listener(id)
  }

  #reconnect(client: pg.Client, error?: Error): void {
    if (this.#closed || client !== this.#client) return
    this.#client = null
    this.#log.warn({ err: error }, 'listening for changes broke off; reconnecting')
    const attempt = () => {
      this.listen().catch(() => {
        this.#retry = setTimeout(attempt, 1000)
      })
    }
    attempt()
  }
}

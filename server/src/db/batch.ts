import type { Database } from './database.ts'

type Waiting<Key, Row> = { readonly key: Key } & PromiseWithResolvers<Row | undefined>

/**
 * Batches the reads of one turn of the event loop into one query, which starts after all of them were
 * requested. Under load a read costs a fraction of a round trip; alone it costs one. Within a
 * transaction every read is a query of its own.
 *
 * `load` returns rows in the order of the keys, undefined where there is none.
 */
export function batchReads<Key, Row>(
  load: (db: Database, keys: readonly Key[]) => Promise<readonly (Row | undefined)[]>,
): (db: Database, key: Key) => Promise<Row | undefined> {
  const batches = new WeakMap<Database, Waiting<Key, Row>[]>()

  async function run(db: Database): Promise<void> {
    const batch = batches.get(db)!
    batches.delete(db)
    try {
      const keys = batch.map(({ key }) => key)
      const rows = await load(db, keys)
      for (const [index, { resolve }] of batch.entries()) resolve(rows[index])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return async (db, key) => {
    if (db.isTransaction) return (await load(db, [key]))[0]
    const waiting = { key, ...Promise.withResolvers<Row | undefined>() }
    const batch = batches.get(db)
    if (batch) {
      batch.push(waiting)
    } else {
      batches.set(db, [waiting])
      setImmediate(() => void run(db))
    }
    return waiting.promise
  }
}

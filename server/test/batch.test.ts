import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchReads } from '../src/db/batch.ts'
import type { Database } from '../src/db/database.ts'
import { startTestServer } from './harness.ts'

test('reads of one turn share a query, and each gets its own row', async () => {
  const { queries, read } = setUp()
  const rows = await Promise.all([read(db, 1), read(db, 0), read(db, 2), read(db, 1)])
  assert.deepEqual(rows, ['row 1', undefined, 'row 2', 'row 1'])
  assert.equal(await read(db, 3), 'row 3')
  assert.deepEqual(queries, [[1, 0, 2, 1], [3]])
})

test('databases do not share a query, and a transaction reads at once', async () => {
  const { queries, read } = setUp()
  const tx = { isTransaction: true } as Database
  const other = {} as Database
  await Promise.all([read(db, 1), read(other, 2), read(tx, 3), read(tx, 4), read(db, 5)])
  assert.deepEqual(queries, [[3], [4], [1, 5], [2]])
})

test('a failed query fails for all callers that share it, and for none after them', async () => {
  const { read } = setUp()
  const answers = await Promise.allSettled([read(db, 1), read(db, -1)])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await read(db, 1), 'row 1')
})

test('of machines read together, each caller sees those of its organization', async (t) => {
  const server = await startTestServer(t)
  const owner = server.as(await server.user('owner'))
  const stranger = server.as(await server.user('owner', 'stranger'))
  const ids = [(await server.machine()).id, `mch_${'0'.repeat(26)}`, (await server.machine()).id]
  const calls = ids.flatMap((id) =>
    [owner, stranger].map(async (call) => (await call('GET', `/v1/machines/${id}`)).body),
  )
  const seen = (await Promise.all(calls)).map(({ id, error }) => id ?? error.code)
  const none = 'not_found'
  assert.deepEqual(seen, [ids[0], none, none, none, ids[2], none])
})

const db = {} as Database

function setUp() {
  const queries: (readonly number[])[] = []
  const read = batchReads<number, string>(async (_, keys) => {
    queries.push(keys)
    if (keys.some((key) => key < 0)) throw new Error('the query failed')
    return keys.map((key) => (key > 0 ? `row ${key}` : undefined))
  })
  return { queries, read }
}

import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Database } from '../src/db/database.ts'
import type { Answer } from './call.ts'

/**
 * Runs fifty concurrent calls with one idempotency key: each returns the one resource that was created,
 * or a request to retry. Resolves with the response of one more call.
 */
export async function fiftyWithOneKey(
  create: () => Promise<Answer>,
  status: 201 | 202,
): Promise<Answer> {
  const answers = await Promise.all(Array.from({ length: 50 }, create))
  const settled = await create()
  assert.equal(settled.status, status)
  for (const { status: seen, body, headers } of answers) {
    if (seen === status) assert.deepEqual(body, settled.body)
    else assert.deepEqual([body.error.code, headers['retry-after']], ['conflict', '1'])
  }
  assert.ok(answers.some(({ status: seen }) => seen === status))
  return settled
}

/** Simulates a process that died before it stored the responses of the calls so far. */
export async function loseAnswers(db: Database): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({
      status: null,
      sealed_response: null,
      running_until: sql`clock_timestamp() - interval '1 second'`,
    })
    .execute()
}

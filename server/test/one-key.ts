import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Database } from '../src/db/database.ts'
import type { Answer } from './call.ts'

/**
 * Fifty calls at once that share an idempotency key: each is answered with the one thing that was
 * made, or told to come again. Resolves with the answer of one more.
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

/** As if whoever made the calls so far had died before it noted their answers. */
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

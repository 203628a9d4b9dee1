import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../errors.ts'
import { GuestUnavailable } from '../../guest/errors.ts'
import { asApiError } from './calls.ts'

test('an unavailable guest is retryable only if the agent cannot have acted', () => {
  const answered = (sent: boolean) => asApiError(new GuestUnavailable('it is silent', { sent }))
  const [unheard, heard] = [answered(false), answered(true)]
  assert.ok(unheard instanceof ApiError && heard instanceof ApiError)
  assert.deepEqual([unheard.code, unheard.retryAfter], ['compute_unavailable', 1])
  assert.deepEqual([heard.code, heard.retryAfter], ['compute_unavailable', undefined])
  assert.match(heard.message, /may have acted/)
})

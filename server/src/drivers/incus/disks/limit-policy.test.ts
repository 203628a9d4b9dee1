import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  limitFor,
  needsFirstScan,
  needsRescan,
  loweredLimit,
  type DiskState,
} from './limit-policy.ts'

const gibibyte = 2 ** 30
const plain: DiskState = {
  sizeBytes: 20 * gibibyte,
  chargedBytes: 5 * gibibyte,
  limitBytes: 20 * gibibyte,
  captures: '',
  isShrinking: false,
  inherits: false,
  transaction: 100,
}
const captured = { ...plain, captures: '300' }
const copied = { ...plain, inherits: true, chargedBytes: 0, limitBytes: 15 * gibibyte }

test('data that captures retain raises the limit, and inherited data lowers it', () => {
  assert.equal(limitFor(captured, 5 * gibibyte), 20 * gibibyte)
  assert.equal(limitFor(captured, 2 * gibibyte), 23 * gibibyte)
  assert.equal(limitFor({ ...copied, chargedBytes: gibibyte }, 6 * gibibyte), 15 * gibibyte)
  assert.equal(limitFor({ ...copied, chargedBytes: gibibyte }, gibibyte), 20 * gibibyte)
  assert.ok(limitFor(copied, 30 * gibibyte) > 0)
})

test('a limit within the tolerance is kept, and without captures it is the size', () => {
  const raised = { ...captured, limitBytes: 23 * gibibyte }
  assert.equal(limitFor(raised, 2 * gibibyte + 1_000_000), 23 * gibibyte)
  assert.equal(limitFor({ ...raised, captures: '' }, 5 * gibibyte - 1_000_000), 20 * gibibyte)
  // Copies of removed captures may still retain some data.
  assert.equal(limitFor({ ...raised, captures: '' }, 3 * gibibyte), 22 * gibibyte)
})

test('a limit does not rise while space is being freed', () => {
  const raised = { ...captured, limitBytes: 23 * gibibyte }
  assert.equal(loweredLimit(raised, 2 * gibibyte), 21 * gibibyte)
  assert.equal(loweredLimit(raised, 9 * gibibyte), 20 * gibibyte)
  assert.equal(loweredLimit(captured, 9 * gibibyte), 20 * gibibyte)
  assert.equal(loweredLimit(copied, 9 * gibibyte), 6 * gibibyte)
  const shrinking = { ...raised, isShrinking: true, limitBytes: 21 * gibibyte }
  assert.equal(limitFor(shrinking, 2 * gibibyte), 21 * gibibyte)
  assert.equal(limitFor({ ...shrinking, chargedBytes: 3 * gibibyte }, 3 * gibibyte), 20 * gibibyte)
})

test('a disk is rescanned when its limit may have to change', () => {
  const near = { ...captured, chargedBytes: 19.5 * gibibyte }
  const cases: [string, DiskState, DiskState, boolean][] = [
    ['nothing changed', near, near, false],
    ['charged with more, near its limit', near, { ...near, chargedBytes: 19.6 * gibibyte }, true],
    ['a new transaction, near its limit', near, { ...near, transaction: 101 }, true],
    ['a new transaction, far from its limit', captured, { ...captured, transaction: 101 }, false],
    ['charged with more', captured, { ...captured, chargedBytes: 9 * gibibyte }, false],
    ['charged with much less', captured, { ...captured, chargedBytes: gibibyte }, true],
    ['captured', plain, captured, true],
    [
      'all captures gone',
      { ...captured, limitBytes: 23 * gibibyte },
      { ...plain, limitBytes: 23 * gibibyte },
      true,
    ],
    ['full, and its machine alone', plain, { ...plain, chargedBytes: 20 * gibibyte }, false],
  ]
  for (const [what, then, now, expected] of cases)
    assert.equal(needsRescan(then, now), expected, what)
})

test('a new disk is scanned unless its limit is known to be right', () => {
  assert.equal(needsFirstScan(plain), false)
  assert.equal(needsFirstScan({ ...plain, limitBytes: 23 * gibibyte }), true)
  assert.equal(needsFirstScan(captured), true)
  assert.equal(needsFirstScan(copied), false)
  assert.equal(needsFirstScan({ ...copied, limitBytes: copied.sizeBytes }), true)
  assert.equal(needsFirstScan({ ...copied, chargedBytes: 14.5 * gibibyte }), true)
})

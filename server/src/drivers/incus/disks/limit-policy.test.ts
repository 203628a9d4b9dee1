import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  limitFor,
  mattersAtFirst,
  mayMatter,
  narrowedLimit,
  type DiskState,
} from './limit-policy.ts'

const gibibyte = 2 ** 30
const plain: DiskState = {
  sizeBytes: 20 * gibibyte,
  chargedBytes: 5 * gibibyte,
  limitBytes: 20 * gibibyte,
  captures: '',
  isThinning: false,
  inherits: false,
  transaction: 100,
}
const captured = { ...plain, captures: '300' }
const copied = { ...plain, inherits: true, chargedBytes: 0, limitBytes: 15 * gibibyte }

test('what captures keep raises the limit, and what a disk began with lowers it', () => {
  assert.equal(limitFor(captured, 5 * gibibyte), 20 * gibibyte)
  assert.equal(limitFor(captured, 2 * gibibyte), 23 * gibibyte)
  assert.equal(limitFor({ ...copied, chargedBytes: gibibyte }, 6 * gibibyte), 15 * gibibyte)
  assert.equal(limitFor({ ...copied, chargedBytes: gibibyte }, gibibyte), 20 * gibibyte)
  assert.ok(limitFor(copied, 30 * gibibyte) > 0)
})

test('a limit stays for what the measure may be wrong by, and is the size without captures', () => {
  const raised = { ...captured, limitBytes: 23 * gibibyte }
  assert.equal(limitFor(raised, 2 * gibibyte + 1_000_000), 23 * gibibyte)
  assert.equal(limitFor({ ...raised, captures: '' }, 5 * gibibyte - 1_000_000), 20 * gibibyte)
  // Copies of captures that are gone may still keep something.
  assert.equal(limitFor({ ...raised, captures: '' }, 3 * gibibyte), 22 * gibibyte)
})

test('while room is freed a limit does not rise', () => {
  const raised = { ...captured, limitBytes: 23 * gibibyte }
  assert.equal(narrowedLimit(raised, 2 * gibibyte), 21 * gibibyte)
  assert.equal(narrowedLimit(raised, 9 * gibibyte), 20 * gibibyte)
  assert.equal(narrowedLimit(captured, 9 * gibibyte), 20 * gibibyte)
  assert.equal(narrowedLimit(copied, 9 * gibibyte), 6 * gibibyte)
  const thinning = { ...raised, isThinning: true, limitBytes: 21 * gibibyte }
  assert.equal(limitFor(thinning, 2 * gibibyte), 21 * gibibyte)
  assert.equal(limitFor({ ...thinning, chargedBytes: 3 * gibibyte }, 3 * gibibyte), 20 * gibibyte)
})

test('a disk is looked at when it may matter', () => {
  const near = { ...captured, chargedBytes: 19.5 * gibibyte }
  const cases: [string, DiskState, DiskState, boolean][] = [
    ['nothing changed', near, near, false],
    [
      'it is charged with more, near its limit',
      near,
      { ...near, chargedBytes: 19.6 * gibibyte },
      true,
    ],
    ['time passed, near its limit', near, { ...near, transaction: 101 }, true],
    ['time passed, far from it', captured, { ...captured, transaction: 101 }, false],
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
    assert.equal(mayMatter(then, now), expected, what)
})

test('a disk that was not seen before is looked at unless its limit is surely right', () => {
  assert.equal(mattersAtFirst(plain), false)
  assert.equal(mattersAtFirst({ ...plain, limitBytes: 23 * gibibyte }), true)
  assert.equal(mattersAtFirst(captured), true)
  assert.equal(mattersAtFirst(copied), false)
  assert.equal(mattersAtFirst({ ...copied, limitBytes: copied.sizeBytes }), true)
  assert.equal(mattersAtFirst({ ...copied, chargedBytes: 14.5 * gibibyte }), true)
})

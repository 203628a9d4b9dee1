import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEscapes } from '../src/commands/shell/escapes.ts'
import { formatTable } from '../src/output.ts'
import { formatBar } from '../src/progress.ts'
import { formatAge, formatBytes, printable } from '../src/text.ts'

test('byte sizes and ages are formatted briefly', () => {
  const sizes = [0, 999, 1000, 1499, 99_499, 999_499, 999_500, 1_000_000_000]
  assert.deepEqual(sizes.map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '1.5 kB',
    '99.5 kB',
    '999 kB',
    '1.0 MB',
    '1.0 GB',
  ])
  const now = Date.parse('2030-01-02T00:00:00Z')
  assert.equal(formatAge('2030-01-01T00:00:00Z', now), '1 day ago')
  assert.equal(formatAge('2030-01-01T23:58:00Z', now), '2 minutes ago')
  assert.equal(formatAge('2030-01-02T00:00:09Z', now), '0 seconds ago')
  assert.equal(formatAge(null), 'never')
})

test('table columns are aligned, also with wide characters', () => {
  const rows = [{ name: '電腦' }, { name: 'plain' }]
  const columns = { name: ({ name }: { name: string }) => name, next: () => null }
  assert.equal(formatTable(rows, columns), 'NAME    NEXT\n電腦    -\nplain   -\n')
  assert.equal(printable('a\u001b]0;title\u0007b\nc'), 'a ]0;title b c')
})

test('a progress bar never exceeds 100%', () => {
  const bar = (done: number) => formatBar('x', { done, total: 10, elapsedMs: 1000 })
  assert.match(bar(0), /░{24} {3}0% {2}0 B of 10 B/)
  assert.match(bar(12), /█{24} 100%/)
  assert.match(formatBar('x', { done: 5, total: null, elapsedMs: 1000 }), /^x {2}5 B {2}5 B\/s$/)
})

test('~. detaches at the beginning of a line, and every other byte passes unchanged', () => {
  let detached = 0
  const typed = (...pieces: string[]) => {
    const escapes = createEscapes(() => detached++)
    return pieces.map((piece) => Buffer.from(escapes(Buffer.from(piece))).toString()).join('|')
  }
  assert.equal(typed('ls ~.\r', 'a~.b'), 'ls ~.\r|a~.b')
  assert.equal(typed('~~.\r~', 'x', '\xff'), '~.\r|~x|\xff')
  assert.equal(detached, 0)
  assert.equal(typed('ls\r', '~', '.ls'), 'ls\r||')
  assert.equal(detached, 1)
})

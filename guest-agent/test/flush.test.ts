import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flushDisk } from '../src/system/flush.ts'
import { runProgram } from '../src/system/program.ts'

test('a flush resolves when the disk has everything, and ends with its caller', async () => {
  await flushDisk(new AbortController().signal)
  const gone = AbortSignal.abort()
  await assert.rejects(flushDisk(gone), { code: 'compute_unavailable' })
})

test('a program that fails, hangs or is missing rejects in bounded time', async () => {
  await runProgram('/bin/true', [], { timeoutMs: 60_000 })
  await assert.rejects(runProgram('/bin/false', [], { timeoutMs: 60_000 }), /ended with 1/)
  await assert.rejects(runProgram('/bin/sleep', ['600'], { timeoutMs: 10 }), { name: 'AbortError' })
  await assert.rejects(runProgram('/no/such', [], { timeoutMs: 60_000 }), { code: 'ENOENT' })
  // A background process does not delay it.
  await runProgram('/bin/sh', ['-c', 'sleep 5 & exit 0'], { timeoutMs: 60_000 })
})

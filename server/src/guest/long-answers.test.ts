import { GuestClipboard, GuestExecResult, GuestFileList, GuestProcesses } from '@computer/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { parseBody } from './long-answers.ts'
import { nameOfLongAnswer, parseApart } from './parse-apart.ts'

test('a list is refused at its first fault', () => {
  for (const item of ['0', '{}', '[]', 'null']) {
    const body = Buffer.from(`{"data":[${`${item},`.repeat(399)}${item}]}`)
    assert.throws(() => parseBody(GuestProcesses, body), isOneIssue, item)
  }
})

test('a list that is longer than any is refused for its length alone', () => {
  const body = Buffer.from(`{"data":[${'0,'.repeat(40_000)}0],"path":"/","next":null}`)
  for (const schema of [GuestProcesses, GuestFileList]) {
    assert.throws(() => parseBody(schema, body), isOneIssue)
  }
})

test('JSON of more values than any answer has is refused before it is parsed', () => {
  const text = '"[{,\\",[[{{,,\\\\"'
  const inString = `{"text":${text.slice(0, -1)}${'[{,'.repeat(100_000)}"}`
  assert.equal(parseBody(GuestClipboard, Buffer.from(inString)).text.length > 300_000, true)
  for (const body of [
    `{"data":[${'0,'.repeat(500_000)}0]}`,
    `{"data":${'['.repeat(500_000)}`,
    `{"data":[${'{},'.repeat(100_000)}{}]}`,
    `{${Array.from({ length: 100_000 }, (_, key) => `"${key}":0`).join(',')}}`,
  ]) {
    assert.throws(
      () => parseBody(GuestProcesses, Buffer.from(body)),
      /^Error: JSON with more than 50000 values$/,
    )
  }
})

test('a long answer is parsed in another thread, with the same result', async () => {
  const result = {
    stdout: 'é'.repeat(500_000),
    stderr: '\0'.repeat(1_000_000),
    exit_code: 0,
    timed_out: false,
    truncated: false,
  }
  assert.equal(nameOfLongAnswer(GuestExecResult), 'execResult')
  const body = () => Buffer.from(JSON.stringify(result))
  const [first, second] = await Promise.all([
    parseApart('execResult', body()),
    parseApart('execResult', body()),
  ])
  assert.deepEqual(first, result)
  assert.deepEqual(second, result)
  await assert.rejects(parseApart('execResult', Buffer.from('{"stdout":1}')))
  assert.deepEqual(await parseApart('execResult', body()), result)
})

function isOneIssue(error: unknown): boolean {
  assert.ok(error instanceof z.core.$ZodError)
  assert.equal(error.issues.length, 1)
  return true
}

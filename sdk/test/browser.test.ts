import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from './server.ts'

const server = await startServer({ after })
const machine = await server.connect().machines.create({ name: 'first' })
const { disk } = server.guest(machine.id)!

test('a page is opened by the browser of the machine', async () => {
  disk.write('.local/bin/chromium', '#!/bin/sh\nprintf "%s|" "$@" > asked\n', { mode: 0o755 })
  await machine.open("https://example.com/a b?q='$(id)'#x")
  const asked = disk.read('asked')?.toString()
  assert.equal(asked, 'https://example.com/a%20b?q=%27$(id)%27#x|')
})

test('an address that is not a web page is refused before anything runs', async () => {
  for (const url of ['--no-sandbox', 'example.com', 'file:///etc/passwd', 'javascript:1', '']) {
    await assert.rejects(machine.open(url), { code: 'invalid_request', message: /http/ }, url)
  }
})

test('a browser that does not start is an error with its reason', async () => {
  disk.write('.local/bin/chromium', '#!/bin/sh\necho no display >&2\nexit 1\n', { mode: 0o755 })
  await assert.rejects(machine.open('http://localhost:3000'), {
    code: 'operation_failed',
    message: 'the browser did not start: no display',
  })
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startTestPreviews } from './preview-server.ts'
import { head, open } from './raw-client.ts'

/* A server closes every connection that it refuses, and its client can read the refusal. */

const run = promisify(execFile)
const previews = await startTestPreviews({ after })
const { host } = await previews.publish({ port: 80, access: 'public' })
const api = new URL(await previews.server.listen())
const preview = new URL(`http://127.0.0.1:${previews.port}`)
const handshake = head('GET', '/', {
  host,
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-version': 13,
})

/** This client reads only when the server has long refused what it sends, because a reset takes what was not read. */
const slowReader = `
  const socket = require('node:net').connect(process.argv[1], '127.0.0.1', () => {
    socket.write('GET / HTTP/1.1\\r\\nHost: a\\r\\nx: ' + 'a'.repeat(4_000_000))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    socket.pipe(process.stdout)
  })
`

for (const [name, url] of Object.entries({ 'the API': api, 'a preview': preview })) {
  test(`${name} closes a connection that is no HTTP, even if its client stays`, async (t) => {
    const socket = await open(t, url, { allowHalfOpen: true })
    socket.write('hello\r\n\r\n')
    assert.match(await text(socket), /^HTTP\/1\.1 400 /)
    await assertCloses(socket)
  })

  test(`${name} lets a client that still sends too large headers receive the refusal`, async () => {
    const { stdout } = await run(process.execPath, ['--eval', slowReader, url.port])
    assert.match(stdout, /^HTTP\/1\.1 4(00|31) /)
  })
}

test('a preview closes a connection whose handshake is refused, even if its client stays', async (t) => {
  const socket = await open(t, preview, { allowHalfOpen: true })
  socket.write(handshake)
  assert.match(await text(socket), /^HTTP\/1\.1 502 /)
  await assertCloses(socket)
})

/** A host resets a connection whose process has closed it. */
async function assertCloses(socket: Socket): Promise<void> {
  const sending = setInterval(() => socket.write('x'), 50)
  const [error] = await once(socket, 'error', { signal: AbortSignal.timeout(20_000) }).finally(() =>
    clearInterval(sending),
  )
  assert.match((error as NodeJS.ErrnoException).code!, /^(ECONNRESET|EPIPE)$/)
}

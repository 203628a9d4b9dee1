import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:http2'
import { connect as connectSocket, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { listen } from '../src/listen.ts'
import { createAgentServer } from '../src/server.ts'

test('a caller that connects before the agent has loaded is answered, and only root can connect', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'computer-listen-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'run', 'agent.sock')
  const umask = process.umask()

  const early = await new Promise<Socket>((resolve) => {
    listen(path, (listener) => {
      t.after(() => listener.close())
      const socket = connectSocket(path)
      // The kernel has the connection before anything handles connections.
      const server = createAgentServer(new Map([['GET /', async () => ({ json: 'here' })]]))
      listener.on('connection', (connection) => server.emit('connection', connection))
      resolve(socket)
    })
  })
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(process.umask(umask), 0o022)

  const session = connect('http://agent', { createConnection: () => early })
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/' })
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 200)
  assert.equal(await json(stream), 'here')
})

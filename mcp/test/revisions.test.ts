import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { serveHttp } from '../src/http.ts'
import { connectOverHttp, connectOverStdio, entry } from './client.ts'

/* Supported protocol revisions: those with a handshake everywhere, the one without only over pipes. */

const server = await startServer({ after })
const { baseUrl, key } = server
const env = { COMPUTER_API_KEY: key, COMPUTER_BASE_URL: baseUrl }
const mcp = await serveHttp({ baseUrl, port: 0 })
after(() => mcp[Symbol.asyncDispose]())

for (const revision of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
  test(`a client of revision ${revision} is served in that revision`, async () => {
    assert.equal(await initialize(revision), revision)
  })

test('a client of an unknown revision is offered a known one', async () => {
  assert.equal(await initialize('2999-01-01'), '2025-11-25')
})

test('over a pipe a client may connect with or without a handshake', async (t) => {
  const owner = server.connect()
  await owner.machines.create({ name: 'shared' })
  for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }] as const) {
    const { client, ok, errors } = await connectOverStdio(t, env, [entry], mode)
    const revision = mode === 'legacy' ? '2025-11-25' : '2026-07-28'
    assert.equal(client.getNegotiatedProtocolVersion(), revision)
    assert.match(await ok('click', { machine: 'shared', x: 1, y: 1 }), /./)
    assert.match(client.getInstructions() ?? '', /screenshot/)
    await client.close()
    assert.deepEqual(errors, [])
  }
})

test('over HTTP a client that prefers no handshake falls back to a session', async (t) => {
  const { client, transport, ok } = await connectOverHttp(t, mcp.url, key, 'auto')
  assert.equal(client.getNegotiatedProtocolVersion(), '2025-11-25')
  assert.ok(transport.sessionId)
  assert.match(await ok('list_machines'), /shared/)
})

test('the server exits after a message that is too long to read', async () => {
  const program = spawn(process.execPath, [entry], {
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(program, 'exit')
  program.stdin.on('error', () => {}).write('x'.repeat(11 * 1024 * 1024))
  assert.deepEqual(await ended, [0, null])
})

async function initialize(protocolVersion: string): Promise<string | undefined> {
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion, capabilities: {}, clientInfo }
  const answer = await fetch(mcp.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  return /"protocolVersion":"([^"]+)"/.exec(await answer.text())?.[1]
}

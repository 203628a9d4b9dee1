import { ApiError } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { explainFailure } from '../src/failures.ts'
import { connectHere } from './client.ts'

const server = await startServer({ after }, { plan: 'free' })
const { baseUrl, key: apiKey } = server

test('a plan limit is explained with its numbers and what to do', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await mcp.ok('create_machine', { name: 'only' })
  const said = await mcp.refused('create_machine', {})
  assert.match(said, /allows 1 .*1 exist.*no longer needed.*raise the limit/)
})

test('a tool that needs a running machine refers to start_machine', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await mcp.ok('stop_machine', { machine: 'only' })
  assert.match(await mcp.ok('stop_machine', { machine: 'only' }), /already stopped/)
  for (const [tool, input] of [
    ['run_command', { command: 'true' }],
    ['read_file', { path: 'a' }],
    ['screenshot', {}],
    ['create_snapshot', {}],
  ] as const) {
    assert.match(await mcp.refused(tool, { machine: 'only', ...input }), /start_machine/, tool)
  }
  await mcp.ok('start_machine', { machine: 'only' })
  assert.match(await mcp.ok('start_machine', { machine: 'only' }), /already running/)
})

test('an unknown name refers to the tool that lists them', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.match(await mcp.refused('screenshot', { machine: 'nobody' }), /nobody.*list_machines/)
  const unknown = { machine: `mch_${'0'.repeat(26)}` }
  assert.match(await mcp.refused('screenshot', unknown), /list_machines/)
  const unpublished = { machine: 'only', port: 9 }
  assert.match(await mcp.refused('unpublish_port', unpublished), /get_machine/)
})

test('an invalid key and an unreachable server are referred to the user', async (t) => {
  const wrong = await connectHere(t, { apiKey: 'ck_wrong', baseUrl })
  assert.match(await wrong.refused('list_machines'), /ask the user.*COMPUTER_API_KEY/)
  const lost = await connectHere(t, { apiKey, baseUrl: 'http://127.0.0.1:1' })
  assert.match(await lost.refused('list_machines'), /tell the user.*cannot be reached/)
})

test('a permission that the key has lost is asked for', () => {
  const refused = new ApiError('permission_denied', 'this needs machines:delete')
  assert.match(explainFailure(refused)!, /^This needs machines:delete\. Ask the user for a key/)
})

test('a browser that fails to start is reported with its error output', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const page = { machine: 'only', url: 'http://localhost:8000/' }
  await installBrowser('echo cannot open display >&2; exit 1')
  assert.match(await mcp.refused('open_page', page), /did not start: cannot open display/)
  await installBrowser('echo "$@" > asked')
  assert.match(await mcp.ok('open_page', page), /^<image>\nOpened http/)
  const { disk } = await guestOf('only')
  assert.equal(disk.read('asked')?.toString(), `${page.url}\n`)
})

/** The machine has no browser of its own. */
async function installBrowser(script: string): Promise<void> {
  const { disk } = await guestOf('only')
  disk.remove('.local/bin/chromium')
  disk.write('.local/bin/chromium', `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}

async function guestOf(name: string) {
  const { body } = await server.call('GET', `/v1/machines?name=${name}`)
  return server.guest(body.data[0].id)
}

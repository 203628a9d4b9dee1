import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { startServer } from '../../sdk/test/server.ts'
import { serveHttp } from '../src/http.ts'
import { connectOverHttp, connectOverStdio, imageOf, type McpClient } from './client.ts'

const server = await startServer({ after })

test('a client completes a full workflow over stdio', async (t) => {
  const env = { COMPUTER_API_KEY: server.key, COMPUTER_BASE_URL: server.baseUrl }
  await runWorkflow(await connectOverStdio(t, env))
})

test('a client completes a full workflow over streamable HTTP', async (t) => {
  const mcp = await serveHttp({ baseUrl: server.baseUrl, port: 0 })
  t.after(() => mcp[Symbol.asyncDispose]())
  await runWorkflow(await connectOverHttp(t, mcp.url, server.key))
})

test('computer mcp serves the tools with the key of a profile', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'computer-mcp-'))
  t.after(() => rm(home, { recursive: true }))
  const profile = { base_url: server.baseUrl, api_key: server.key }
  await mkdir(join(home, 'computer'))
  const config = JSON.stringify({ current: 'here', profiles: { here: profile } })
  await writeFile(join(home, 'computer/config.json'), config)
  const program = [fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url)), 'mcp']
  const mcp = await connectOverStdio(t, { XDG_CONFIG_HOME: home }, [...program, '--read-only'])
  const { tools } = await mcp.client.listTools()
  assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint))
  await mcp.ok('list_machines')
  assert.deepEqual(mcp.errors, [])
})

async function runWorkflow(mcp: McpClient): Promise<void> {
  const { tools } = await mcp.client.listTools()
  assert.ok(tools.length >= 15 && tools.length <= 36, `${tools.length} tools`)
  assert.match(mcp.client.getInstructions() ?? '', /screenshot/)

  const created = await mcp.ok('create_machine', { name: 'work' })
  const [id] = /mch_[0-9a-z]+/.exec(created)!
  assert.match(await mcp.ok('list_machines'), RegExp(`work \\(${id}\\): running`))

  const picture = imageOf(await mcp.call('screenshot', { machine: 'work' }))
  const { width, height, format } = await sharp(picture.bytes).metadata()
  assert.deepEqual([width, height, `image/${format}`], [1280, 800, picture.mimeType])

  await mcp.ok('click', { machine: 'work', x: 100, y: 200 })
  await mcp.ok('type_text', { machine: 'work', text: 'hi' })
  await mcp.ok('press_keys', { machine: id, keys: 'ctrl+s' })
  const events = server.guest(id!).desktop.events.map(({ event }) => event)
  assert.ok(events.includes('move 100,200'), events.join(' | '))

  await mcp.ok('write_file', { machine: 'work', path: 'notes.txt', content: 'the plan' })
  assert.equal(await mcp.ok('read_file', { machine: 'work', path: 'notes.txt' }), 'the plan')
  assert.match(
    await mcp.ok('run_command', { machine: 'work', command: 'cat notes.txt' }),
    /the plan/,
  )

  const [snapshot] = /snp_[0-9a-z]+/.exec(await mcp.ok('create_snapshot', { machine: 'work' }))!
  await mcp.ok('write_file', { machine: 'work', path: 'notes.txt', content: 'another plan' })
  const forked = await mcp.ok('fork_machine', { machine: 'work', name: 'branch', snapshot })
  assert.match(forked, /branch \(mch_/)
  assert.equal(await mcp.ok('read_file', { machine: 'branch', path: 'notes.txt' }), 'the plan')
  await mcp.ok('restore_snapshot', { machine: 'work', snapshot })
  assert.equal(await mcp.ok('read_file', { machine: 'work', path: 'notes.txt' }), 'the plan')

  assert.match(await mcp.ok('publish_port', { machine: 'work', port: 8000 }), /https:.*\n.*https:/)
  assert.match(await mcp.ok('get_machine', { machine: 'work' }), /8000: private, https:/)
  await mcp.ok('unpublish_port', { machine: 'work', port: 8000 })

  await mcp.ok('stop_machine', { machine: 'branch' })
  assert.match(await mcp.ok('start_machine', { machine: 'branch' }), /running/)
  const deleted = await mcp.ok('delete_machine', { machine: 'branch' })
  assert.match(
    deleted,
    /^Deleted branch .*\nIts snapshots are kept.*templates.*\n- stopped .*snp_.* bytes$/,
  )
  assert.match(await mcp.refused('get_machine', { machine: 'branch' }), /list_machines/)
  const all = await mcp.ok('delete_machine', { machine: 'work', delete_snapshots: true })
  assert.match(all, /^Deleted work \(mch_\w+\) and its snapshots\.$/)
  assert.deepEqual(mcp.errors, [])
}

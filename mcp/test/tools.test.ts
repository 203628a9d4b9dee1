import type { ApiKeyScope } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { tools } from '../src/tools/all.ts'
import { connectHere } from './client.ts'

test('every tool says what it does and when to use it', () => {
  assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length)
  for (const { name, title, description } of tools) {
    assert.match(name, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(title.length > 3, name)
    assert.match(description, /\buse\b/i, `${name} does not say when to use it`)
    assert.ok(description.length >= 100 && description.length <= 700, name)
  }
  const named = tools.flatMap(({ description }) => description.match(/\b[a-z]+_[a-z]+\b/g) ?? [])
  for (const name of named)
    assert.ok(
      tools.some((tool) => tool.name === name),
      name,
    )
})

test('every tool has complete annotations', async (t) => {
  const { client } = await connectHere(t, { apiKey: 'none' })
  const listed = (await client.listTools()).tools
  assert.equal(listed.length, tools.length)
  for (const { name, annotations = {}, inputSchema } of listed) {
    assert.equal(inputSchema['additionalProperties'], false, name)
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
    for (const hint of [readOnlyHint, destructiveHint, idempotentHint, openWorldHint])
      assert.equal(typeof hint, 'boolean', name)
    assert.ok(!(readOnlyHint && destructiveHint), name)
  }
})

test('read-only mode offers only tools that change nothing', async (t) => {
  const mcp = await connectHere(t, { apiKey: 'none', readOnly: true })
  const { tools: listed } = await mcp.client.listTools()
  assert.deepEqual(listed.map(({ name }) => name).sort(), [
    'check_help',
    'get_machine',
    'list_files',
    'list_machines',
    'list_templates',
    'read_clipboard',
    'read_file',
    'read_process',
    'screenshot',
    'usage',
  ])
  assert.ok(listed.every(({ annotations }) => annotations?.readOnlyHint))
  const clicking = mcp.call('click', { machine: 'any', x: 1, y: 1 })
  await assert.rejects(clicking, { code: -32602, message: /click not found/ })
})

test('an invalid input is refused with the name of the invalid field', async (t) => {
  const mcp = await connectHere(t, { apiKey: 'none' })
  assert.match(await mcp.refused('click', { machine: 'any', x: 1.5, y: 1 }), /x/)
  assert.match(await mcp.refused('click', { machine: 'any', x: 1, y: 1, z: 1 }), /"?z"?/)
  assert.match(await mcp.refused('open_page', { machine: 'any', url: 'file:///etc' }), /url/)
  assert.match(await mcp.refused('open_page', { machine: 'any', url: '--no-sandbox' }), /url/)
})

test('a key is offered the tools that it may use', async (t) => {
  const server = await startServer({ after })
  const offered = async (scopes: readonly ApiKeyScope[]) => {
    const { secret } = await server.apiKey({ scopes })
    const mcp = await connectHere(t, { apiKey: secret, baseUrl: server.baseUrl })
    return (await mcp.client.listTools()).tools.map(({ name }) => name)
  }
  const reading = tools.filter(({ annotations }) => annotations.readOnlyHint)
  const readers = reading.map(({ name }) => name)
  assert.deepEqual(await offered(['machines:read']), readers)
  const publishing = ['publish_port', 'unpublish_port']
  assert.deepEqual(
    (await offered(['ports:write'])).toSorted(),
    [...readers, ...publishing].toSorted(),
  )
  const controlling = await offered(['machines:control'])
  for (const name of ['click', 'run_command', 'write_file', 'start_machine', 'restore_snapshot'])
    assert.ok(controlling.includes(name), name)
  for (const name of ['create_machine', 'fork_machine', 'delete_machine', 'create_snapshot'])
    assert.ok(!controlling.includes(name), name)
  const all = await connectHere(t, { apiKey: server.key, baseUrl: server.baseUrl })
  assert.equal((await all.client.listTools()).tools.length, tools.length)
  assert.match(all.client.getInstructions() ?? '', /Start with list_machines/)
})

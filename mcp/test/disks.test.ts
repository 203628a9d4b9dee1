import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { connectHere } from './client.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server
const { name: machine } = await server.connect().machines.create({ name: 'first' })

test('snapshots and templates are named by name or ID', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.match(await mcp.ok('list_templates'), /no templates.*create_template/)
  await mcp.ok('write_file', { machine, path: 'plan.txt', content: 'good' })
  const taken = await mcp.ok('create_snapshot', { machine, name: 'before' })
  const [id] = /snp_[0-9a-z]+/.exec(taken)!
  await mcp.ok('write_file', { machine, path: 'plan.txt', content: 'bad' })
  await mcp.ok('restore_snapshot', { machine, snapshot: 'before' })
  assert.equal(await mcp.ok('read_file', { machine, path: 'plan.txt' }), 'good')

  const input = { machine, name: 'base', description: 'A plan.', snapshot: id }
  assert.match(await mcp.ok('create_template', input), /base \(tpl_\w+\): ready, small.*: A plan\./)
  assert.match(await mcp.ok('list_templates'), /^base \(tpl_/)
  await mcp.ok('create_machine', { name: 'second', template: 'base' })
  assert.equal(await mcp.ok('read_file', { machine: 'second', path: 'plan.txt' }), 'good')
  await mcp.ok('fork_machine', { machine, name: 'third', snapshot: 'before' })

  await mcp.ok('delete_template', { template: 'base' })
  await mcp.ok('delete_snapshot', { machine, snapshot: 'Before restore' })
  await mcp.ok('delete_snapshot', { machine, snapshot: id })
})

test('an unknown or ambiguous name refers to what there is', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const unknown = { machine, snapshot: 'none' }
  assert.match(await mcp.refused('restore_snapshot', unknown), /"none".*get_machine/)
  assert.match(await mcp.refused('delete_template', { template: 'none' }), /list_templates/)
  for (let count = 0; count < 2; count++) await mcp.ok('create_snapshot', { machine, name: 'twin' })
  const twin = { machine, snapshot: 'twin' }
  assert.match(await mcp.refused('delete_snapshot', twin), /IDs snp_\w+, snp_\w+/)
})

test('a machine is restarted', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.match(await mcp.ok('restart_machine', { machine }), /^first \(mch_\w+\): running/)
})

test('the clipboard is written with the lease and read without', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.match(await mcp.ok('read_clipboard', { machine }), /empty/)
  const text = 'Grüße\nund mehr'
  assert.match(await mcp.ok('write_clipboard', { machine, text }), /14 characters/)
  assert.equal(await mcp.ok('read_clipboard', { machine }), text)
  const primary = { machine, selection: 'primary' }
  assert.match(await mcp.ok('read_clipboard', primary), /empty/)
})

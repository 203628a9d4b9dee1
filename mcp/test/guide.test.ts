import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { after, test } from 'node:test'
import { openTerminal } from '../../e2e/harness/guide.ts'
import { startServer } from '../../sdk/test/server.ts'
import { findHostNode } from '../../server/test/nodes.ts'
import { tools } from '../src/tools/all.ts'

/* The settings that the guide shows, as a client of MCP uses them. */

type Settings = {
  readonly mcpServers: Readonly<Record<string, Entry>>
}
type Entry = {
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const guide = await readFile(new URL('../../docs/mcp.md', import.meta.url), 'utf8')
const entries = [...guide.matchAll(/```json\n([^]*?)```/g)]
  .flatMap(([, block]) => Object.values((JSON.parse(block!) as Settings).mcpServers))
  .filter(({ command }) => command !== undefined)
const server = await startServer({ after })

test('each of the settings starts a server that reaches the machines', async (t) => {
  assert.equal(entries.length, 2)
  const nodeDir = (await findHostNode()) ?? dirname(process.execPath)
  const { home, path, paste } = await openTerminal(t, nodeDir, { KEY: server.key })
  await paste([`computer login --url ${server.baseUrl} <<< "$KEY"`])
  await server.call('POST', '/v1/machines', { name: 'first' })
  for (const { command, args, env } of entries) {
    const connection = { COMPUTER_API_KEY: server.key, COMPUTER_BASE_URL: server.baseUrl }
    // The guide shows placeholders for these.
    const own = Object.keys(env ?? {}).map((name) => [
      name,
      connection[name as keyof typeof connection],
    ])
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StdioClientTransport({
      command: command!,
      args: [...(args ?? [])],
      env: { PATH: path, HOME: home, ...Object.fromEntries(own) },
      stderr: 'inherit',
    })
    t.after(() => client.close())
    await client.connect(transport)
    assert.equal((await client.listTools()).tools.length, tools.length)
    const { content } = await client.callTool({ name: 'list_machines', arguments: {} })
    assert.match(JSON.stringify(content), /first/)
  }
})

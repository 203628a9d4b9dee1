import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { openTerminal } from '../../e2e/harness/guide.ts'
import { freePort } from '../../e2e/harness/ports.ts'
import { startServer } from '../../sdk/test/server.ts'
import { findHostNode } from '../../server/test/nodes.ts'
import { tools } from '../src/tools/all.ts'

/* The settings and commands that the guide shows, as a client of MCP uses them. */

type Settings = {
  readonly mcpServers: Readonly<Record<string, Entry>>
}
type Entry = {
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

const guide = await readFile(new URL('../../docs/mcp.md', import.meta.url), 'utf8')
const settings = [...guide.matchAll(/```json\n([^]*?)```/g)].flatMap(([, block]) =>
  Object.values((JSON.parse(block!) as Settings).mcpServers),
)
const started = settings.filter(({ command }) => command !== undefined)
const [reached] = settings.filter(({ url }) => url !== undefined)
const commands = [...guide.matchAll(/```\n(computer .*)\n```/g)].map(([, line]) => line!.split(' '))

const server = await startServer({ after })
const nodeDir = (await findHostNode()) ?? dirname(process.execPath)
const { home, path, paste } = await openTerminal({ after }, nodeDir, { KEY: server.key })
const env = { PATH: path, HOME: home }
await paste([`computer login --url ${server.baseUrl} <<< "$KEY"`])
await server.call('POST', '/v1/machines', { name: 'first' })

test('each of the settings starts a server that reaches the machines', async () => {
  assert.equal(started.length, 2)
  for (const { command, args, env: named = {} } of started) {
    const connection = { COMPUTER_API_KEY: server.key, COMPUTER_BASE_URL: server.baseUrl }
    // The guide shows placeholders for these.
    const own = Object.keys(named).map((name) => [
      name,
      connection[name as keyof typeof connection],
    ])
    const all = { ...env, ...Object.fromEntries(own) }
    const names = await toolsOf(stdio([command!, ...(args ?? [])], all))
    assert.equal(names.length, tools.length)
  }
})

test('the read-only mode offers the tools that the guide names', async () => {
  const [readOnly] = commands.filter((words) => words.includes('--read-only'))
  const named = /offers only the tools that read: ([^.]*)\./.exec(guide)![1]!.match(/\w+(?=`)/g)
  assert.deepEqual((await toolsOf(stdio(readOnly!, env))).sort(), named!.sort())
})

test('a client reaches the server over HTTP with its own key', async (t) => {
  const [overHttp] = commands.filter((words) => words.includes('--http'))
  const { port, pathname } = new URL(reached!.url!)
  assert.ok(overHttp!.includes(port))
  // That port may be taken on this host.
  const own = String(await freePort())
  const [command, ...args] = overHttp!.map((word) => (word === port ? own : word))
  const child = spawn(command!, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const [line] = (await once(createInterface(child.stderr), 'line')) as [string]
  const url = new URL(/http:\S+/.exec(line)![0])
  assert.equal(url.pathname, pathname)
  const named = Object.entries(reached!.headers!)
  const headers = named.map(([name, value]) => [name, value.replace('…', server.key)])
  const requestInit = { headers: Object.fromEntries(headers) as Record<string, string> }
  const names = await toolsOf(new StreamableHTTPClientTransport(url, { requestInit }))
  assert.equal(names.length, tools.length)
})

function stdio([command, ...args]: readonly string[], all: Readonly<Record<string, string>>) {
  return new StdioClientTransport({ command: command!, args, env: { ...all }, stderr: 'inherit' })
}

/** The names of the tools that a client is offered, once it has seen the machine. */
async function toolsOf(transport: Parameters<Client['connect']>[0]): Promise<string[]> {
  const client = new Client({ name: 'test', version: '1' })
  after(() => client.close())
  await client.connect(transport)
  const { content } = await client.callTool({ name: 'list_machines', arguments: {} })
  assert.match(JSON.stringify(content), /first/)
  return (await client.listTools()).tools.map(({ name }) => name)
}

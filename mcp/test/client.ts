import {
  Client,
  InMemoryTransport,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Transport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import type { startServer } from '../../sdk/test/server.ts'
import { openConnection, type ConnectionOptions } from '../src/connection.ts'
import { createMcpServer, type ServerOptions } from '../src/mcp-server.ts'
import { readPermissions } from '../src/permissions.ts'

export const entry = fileURLToPath(new URL('../src/main.ts', import.meta.url))

type Lifetime = Parameters<typeof startServer>[0]
export type McpClient = Awaited<ReturnType<typeof connect>>

/** Connects a client to a server in this process, for tests that do not concern transports. */
export async function connectHere(t: Lifetime, options: ConnectionOptions & ServerOptions) {
  const connection = openConnection(options)
  t.after(() => connection[Symbol.asyncDispose]())
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
  const permissions = await readPermissions(connection)
  await createMcpServer(connection, { ...options, permissions }).connect(serverSide)
  return { connection, ...(await connect(t, clientSide)) }
}

/** Runs the program over a pipe, so that any output outside the protocol is an error. */
export async function connectOverStdio(
  t: Lifetime,
  env: Readonly<Record<string, string>>,
  program: readonly string[] = [entry],
  mode?: VersionNegotiationMode,
) {
  const command = { command: process.execPath, args: [...program], env: { ...env } }
  const transport = new StdioClientTransport({ ...command, stderr: 'inherit' })
  return { ...(await connect(t, transport, mode)), pid: () => transport.pid! }
}

export async function connectOverHttp(
  t: Lifetime,
  url: string,
  key: string,
  mode?: VersionNegotiationMode,
) {
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
  return { transport, ...(await connect(t, transport, mode)) }
}

async function connect(t: Lifetime, transport: Transport, mode: VersionNegotiationMode = 'legacy') {
  const negotiation = { versionNegotiation: { mode } }
  const client = new Client({ name: 'test', version: '1' }, negotiation)
  const errors: Error[] = []
  client.onerror = (error) => errors.push(error)
  t.after(() => client.close())
  await client.connect(transport)
  const call = async (name: string, input: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: input })
  return {
    client,
    /** Protocol violations. */
    errors,
    call,
    /** The text of a result, which must not be an error. */
    async ok(name: string, input?: Record<string, unknown>): Promise<string> {
      const result = await call(name, input)
      assert.ok(!result.isError, `${name}: ${textOf(result)}`)
      return textOf(result)
    },
    /** The text of a result, which must be an error. */
    async refused(name: string, input?: Record<string, unknown>): Promise<string> {
      const result = await call(name, input)
      assert.equal(result.isError, true, `${name}: ${textOf(result)}`)
      assert.doesNotMatch(textOf(result), /\n\s+at |node:internal/)
      return textOf(result)
    },
  }
}

export function textOf({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('\n')
}

export function imageOf({ content }: CallToolResult): { bytes: Buffer; mimeType: string } {
  const image = content.find((part) => part.type === 'image')
  assert.ok(image, 'the result contains no image')
  return { bytes: Buffer.from(image.data, 'base64'), mimeType: image.mimeType }
}

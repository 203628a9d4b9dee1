import { serveStdio as serveOver, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { Console } from 'node:console'
import process from 'node:process'
import { openConnection, type ConnectionOptions } from './connection.ts'
import { readPermissions } from './permissions.ts'
import { waitForShutdown } from './signals.ts'
import { createMcpServer, type ServerOptions } from './mcp-server.ts'

/** Clients kill a server that has not exited by then. */
const shutdownTimeoutMs = 2_000

/**
 * Serves one client over standard input and output. Resolves when it disconnects or on a termination
 * signal, after releasing the mouse and keyboard of every machine.
 */
export async function serveStdio(options: ConnectionOptions & ServerOptions): Promise<void> {
  // Standard output is reserved for the protocol.
  globalThis.console = new Console(process.stderr)
  const connection = openConnection(options)
  const transport = new StdioServerTransport()
  const offer = { ...options, permissions: await readPermissions(connection) }
  const served = serveOver(() => createMcpServer(connection, offer), { transport })
  await Promise.race([closed(transport), waitForShutdown()])
  await served.close()
  const timeout = new Promise<void>((resolve) => setTimeout(resolve, shutdownTimeoutMs).unref())
  // Leases that cannot be released expire.
  const released = connection[Symbol.asyncDispose]().catch(() => {})
  await Promise.race([released, timeout])
}

/** Resolves when the client disconnects, or sends a message too long to read. */
function closed(transport: StdioServerTransport): Promise<void> {
  return new Promise((resolve) => {
    const { onclose } = transport
    transport.onclose = () => {
      onclose?.()
      resolve()
    }
  })
}

import { serveStdio as serveOver, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { Console } from 'node:console'
import process from 'node:process'
import { openConnection, type ConnectionOptions } from './connection.ts'
import { toldToEnd } from './ending.ts'
import { createMcpServer, type ServerOptions } from './mcp-server.ts'

/** As long as a client waits for its server to end before it kills it. */
const endsWithinMs = 2_000

/**
 * Serves the one client at the other end of standard input and output. Resolves when that has gone, or
 * the process is told to end, and every machine is handed back.
 */
export async function serveStdio(options: ConnectionOptions & ServerOptions): Promise<void> {
  // Standard output carries the protocol alone.
  globalThis.console = new Console(process.stderr)
  const connection = openConnection(options)
  const transport = new StdioServerTransport()
  const served = serveOver(() => createMcpServer(connection, options), { transport })
  await Promise.race([closed(transport), toldToEnd()])
  await served.close()
  const over = new Promise<void>((resolve) => setTimeout(resolve, endsWithinMs).unref())
  // A server that does not answer lets the leases run out by themselves.
  const handedBack = connection[Symbol.asyncDispose]().catch(() => {})
  await Promise.race([handedBack, over])
}

/** Resolves when the client has gone, or sent what is too long to be read. */
function closed(transport: StdioServerTransport): Promise<void> {
  return new Promise((resolve) => {
    const { onclose } = transport
    transport.onclose = () => {
      onclose?.()
      resolve()
    }
  })
}

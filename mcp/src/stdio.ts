import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
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
  const ended = Promise.race([clientGone(), toldToEnd()])
  const connection = openConnection(options)
  const server = createMcpServer(connection, options)
  await server.connect(new StdioServerTransport())
  await ended
  await server.close()
  const over = new Promise<void>((resolve) => setTimeout(resolve, endsWithinMs).unref())
  // A server that does not answer lets the leases run out by themselves.
  const handedBack = connection[Symbol.asyncDispose]().catch(() => {})
  await Promise.race([handedBack, over])
}

function clientGone(): Promise<void> {
  return new Promise((resolve) => {
    const gone = () => resolve()
    process.stdin.once('end', gone).once('close', gone)
    process.stdout.once('error', gone)
  })
}

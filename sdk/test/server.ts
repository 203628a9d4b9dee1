import type { Lifetime } from '../../server/test/harness.ts'
import { startTestGateway } from '../../server/test/gateway.ts'
import { startTestServer } from '../../server/test/harness.ts'
import { Computer } from '../src/index.ts'
import type { ComputerOptions } from '../src/index.ts'

/** Starts a real server and gateway over the fake engine, on free ports. */
export async function startServer(
  t: Lifetime,
  options: Parameters<typeof startTestServer>[1] = {},
) {
  const computers: Computer[] = []
  t.after(async () => {
    for (const computer of computers) await computer[Symbol.asyncDispose]()
    // An aborted call can leave an idle connection, which would delay the shutdown.
    server.http.server.closeAllConnections()
  })
  const server = await startTestServer(t, options)
  const gateway = await startTestGateway(t, server.app)
  const baseUrl = (await server.listen()).href
  const gatewayUrl = gateway.origin.replace('http', 'ws')
  return {
    ...server,
    gateway,
    baseUrl,
    gatewayUrl,
    /** A client with the owner's key, disposed of after the test. */
    connect(overrides: ComputerOptions = {}): Computer {
      const computer = new Computer({ apiKey: server.key, baseUrl, gatewayUrl, ...overrides })
      computers.push(computer)
      return computer
    },
  }
}

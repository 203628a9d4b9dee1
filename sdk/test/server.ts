import type { Lifetime } from '../../server/test/harness.ts'
import { startTestGateway } from '../../server/test/gateway.ts'
import { startTestServer } from '../../server/test/harness.ts'
import { Computer } from '../src/index.ts'
import type { ComputerOptions } from '../src/index.ts'

export type SdkServer = Awaited<ReturnType<typeof startServer>>

/** A real server and gateway over the fake engine, on ports of their own, and clients of it. */
export async function startServer(
  t: Lifetime,
  options: Parameters<typeof startTestServer>[1] = {},
) {
  const computers: Computer[] = []
  t.after(async () => {
    for (const computer of computers) await computer[Symbol.asyncDispose]()
    // A call that ends before it is sent leaves a connection that says nothing, and is waited for.
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
    /** A client with the owner's key, ended with the test. */
    connect(wish: ComputerOptions = {}): Computer {
      const computer = new Computer({ apiKey: server.key, baseUrl, gatewayUrl, ...wish })
      computers.push(computer)
      return computer
    },
  }
}

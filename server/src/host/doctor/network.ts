import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config.ts'
import { chooseSubnet, overlap, parseSubnet, readHostRoutes } from '../../drivers/incus/subnet.ts'
import { findServer } from '../server-lock.ts'
import { fail, ok, warn, type Check } from './check.ts'

export const networkChecks: readonly Check[] = [
  {
    name: 'ports',
    concerns: 'server',
    async run(_, config) {
      if (findServer(config.dataDir)) return ok('held by the server that runs')
      const ports = { COMPUTER_API_PORT: config.apiPort, COMPUTER_GATEWAY_PORT: config.gatewayPort }
      for (const [name, port] of Object.entries(ports)) {
        const problem = await tryListen(config, port)
        if (!problem) continue
        return fail(
          `${config.bind}:${port} cannot be listened on (${problem})`,
          `End what listens there (ss -ltnp 'sport = :${port}' names it), or set ${name}.`,
        )
      }
      return ok(`${config.apiPort} and ${config.gatewayPort} are free on ${config.bind}`)
    },
  },
  {
    name: 'machine network',
    concerns: 'engine',
    async run(_, { networkCidr, dataDir }) {
      if (findServer(dataDir)) return ok('in use by the server that runs')
      const routes = await readHostRoutes()
      if (!networkCidr) {
        if (chooseSubnet(routes)) return ok('a free part of 10.0.0.0/8 will be used')
        return fail('this host routes all of 10.0.0.0/8', 'Set COMPUTER_NETWORK to a free network.')
      }
      const wanted = parseSubnet(networkCidr)
      if (wanted && !routes.some((route) => overlap(route, wanted))) return ok(networkCidr)
      // The bridge of a server that ran before is such a route too, and a right one.
      return warn(
        `${networkCidr} meets a network this host already routes to`,
        'If that is not the bridge of this server, set COMPUTER_NETWORK to a free network.',
      )
    },
  },
  {
    name: 'forwarding',
    concerns: 'engine',
    async run(host) {
      const rules = await host.run('iptables', '-S', 'FORWARD')
      if (!rules?.includes('-P FORWARD DROP'))
        return ok('no rule of this host drops what machines send')
      return warn(
        'a firewall (often that of Docker) drops what is forwarded: machines may not reach the network',
        'Accept the bridge of the machines: iptables -I DOCKER-USER -i BRIDGE -j ACCEPT, and the same with -o.',
      )
    },
  },
  {
    name: 'name resolution',
    concerns: 'server',
    isSlow: true,
    async run() {
      const found = await lookup('debian.org').catch((error: Error) => error)
      if (!(found instanceof Error)) return ok('names resolve')
      return warn(
        `debian.org does not resolve (${found.message})`,
        'Check /etc/resolv.conf: machines use the name servers of the host.',
      )
    },
  },
]

/** Resolves to what stands in the way, or null. */
async function tryListen({ bind }: Config, port: number): Promise<string | null> {
  const server = createServer()
  try {
    await once(server.listen(port, bind), 'listening')
    return null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  } finally {
    server.close()
  }
}

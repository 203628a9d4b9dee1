import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { chooseSubnet, overlap, parseSubnet, readHostRoutes } from '../../drivers/incus/subnet.ts'
import { metricsPort, roles } from '../../metrics/listener.ts'
import { findServer } from '../server-lock.ts'
import { fail, ok, warn, type Check } from './check.ts'

export const networkChecks: readonly Check[] = [
  {
    name: 'ports',
    concerns: 'server',
    async run(_, config) {
      if (findServer(config.dataDir)) return ok('in use by the running server')
      const ports = { COMPUTER_API_PORT: config.apiPort, COMPUTER_GATEWAY_PORT: config.gatewayPort }
      for (const [name, port] of Object.entries(ports)) {
        const problem = await tryListen(config.bind, port)
        if (!problem) continue
        return fail(
          `cannot listen on ${config.bind}:${port} (${problem})`,
          `Stop the program that listens there (find it with: ss -ltnp 'sport = :${port}'), or set ${name}.`,
        )
      }
      for (const role of roles) {
        const port = metricsPort(config, role)
        const problem = port === null ? null : await tryListen(config.metricsBind, port)
        if (!problem) continue
        return warn(
          `cannot serve metrics on ${config.metricsBind}:${port} (${problem})`,
          'Set COMPUTER_METRICS_PORT to the first of three free ports, or to 0 for no metrics.',
        )
      }
      return ok(`${config.apiPort} and ${config.gatewayPort} are free on ${config.bind}`)
    },
  },
  {
    name: 'machine network',
    concerns: 'engine',
    async run(_, { networkCidr, dataDir }) {
      if (findServer(dataDir)) return ok('in use by the running server')
      const routes = await readHostRoutes()
      if (!networkCidr) {
        if (chooseSubnet(routes)) return ok('a free part of 10.0.0.0/8 will be used')
        return fail(
          'this host has routes for all of 10.0.0.0/8',
          'Set COMPUTER_NETWORK to a free network.',
        )
      }
      const wanted = parseSubnet(networkCidr)
      if (wanted && !routes.some((route) => overlap(route, wanted))) return ok(networkCidr)
      // The bridge of an earlier run of this server is such a route as well, and is fine.
      return warn(
        `${networkCidr} overlaps a network that this host already has a route for`,
        'Unless that is the bridge of this server, set COMPUTER_NETWORK to a free network.',
      )
    },
  },
  {
    name: 'bridge filters',
    concerns: 'engine',
    async run(host) {
      const setting = '/proc/sys/net/bridge/bridge-nf-call-ip6tables'
      if (await host.read(setting)) return ok('available')
      if ((await host.run('modprobe', '-n', 'br_netfilter')) !== null) {
        return ok('they are loaded when the server starts')
      }
      return fail(
        'the kernel has no br_netfilter: machines cannot start without filters for their addresses',
        'Load the kernel module br_netfilter (every Debian kernel has it).',
      )
    },
  },
  {
    name: 'forwarding',
    concerns: 'engine',
    async run(host) {
      const rules = await host.run('iptables', '-S', 'FORWARD')
      if (!rules?.includes('-P FORWARD DROP')) return ok('no firewall rule drops forwarded traffic')
      return warn(
        'a firewall (often Docker) drops forwarded traffic: machines may not reach the network',
        'Accept the bridge of the machines: iptables -I DOCKER-USER -i BRIDGE -j ACCEPT, and again with -o.',
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
        'Check /etc/resolv.conf: machines use the name servers of this host.',
      )
    },
  },
]

/** Resolves to the problem, or null. */
async function tryListen(bind: string, port: number): Promise<string | null> {
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

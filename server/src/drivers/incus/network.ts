import { DriverError } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { ensure, type EngineConfig } from './engine-config.ts'
import { chooseSubnet, overlap, parseSubnet, readHostRoutes, type Subnet } from './subnet.ts'
import { removeUnusedBridge } from './sweep-host.ts'

/**
 * A bridge of our own. Guests reach the internet through NAT and nothing else: no private network, no
 * address of the host, and no other guest, not even through the gateway. The engine accepts their DHCP
 * and DNS to the bridge before these rules. Resolves to the address of the gateway.
 */
export async function ensureNetwork(client: IncusClient, config: EngineConfig): Promise<string> {
  const acl = `${config.network}-guests`
  const host = await readHostNetworks(client)
  const rules = guestRules(host.map((network) => network.address))
  const path = `/1.0/network-acls/${acl}`
  await ensure(client, path, '/1.0/network-acls', { name: acl, description: '', ...rules })
  const current = await client.get<typeof rules & { description: string; config: object }>(path)
  if (summary(current.egress) !== summary(rules.egress) || current.ingress.length > 0) {
    await client.change('PUT', path, {
      body: { ...rules, description: '', config: current.config },
    })
  }

  const network = `/1.0/networks/${config.network}`
  const settings = {
    'security.acls': acl,
    'ipv6.address': 'none',
    'dns.mode': 'none',
    'raw.dnsmasq': dnsmasqOptions.join('\n'),
  }
  const inUse = host.map(({ subnet }) => subnet)
  await ensureBridge(client, config, { path: network, settings, inUse })
  const bridge = await client.get<{ config: Record<string, string> }>(network)
  if (Object.entries(settings).some(([key, value]) => bridge.config[key] !== value)) {
    await client.change('PATCH', network, { body: { config: settings } })
  }
  return bridge.config['ipv4.address']!.split('/')[0]!
}

/**
 * Only links that the engine made get an address. Guests learn no names of the host or of its network,
 * and nothing about its name servers. The queries that one machine may have open (host-firewall.ts) leave
 * room for those of others.
 */
const dnsmasqOptions = [
  'dhcp-ignore=tag:!known',
  'no-hosts',
  'domain-needed',
  'bogus-priv',
  'no-ident',
  'dns-forward-max=10000',
]

const maxTries = 20

/**
 * Another server on this host may choose the same free network at the same time. The DNS service of the
 * second bridge then cannot start, and the next free network is tried. The engine also asks about every
 * link of the host while it makes a bridge, and gives up if a link goes meanwhile: it is asked again. A
 * bridge that it gave up, or that a removed server left, would keep the name.
 */
async function ensureBridge(
  client: IncusClient,
  config: EngineConfig,
  bridge: { readonly path: string; readonly settings: object; readonly inUse: readonly Subnet[] },
): Promise<void> {
  const taken = [...bridge.inUse]
  for (let tries = 1; ; tries += 1) {
    let address = ''
    try {
      return await ensure(client, bridge.path, '/1.0/networks', async () => {
        if (config.engineDir !== undefined) await removeUnusedBridge(config.network)
        address = await subnetOf(config, taken)
        const settings = { ...bridge.settings, 'ipv4.address': address, 'ipv4.nat': 'true' }
        return { name: config.network, type: 'bridge', config: settings }
      })
    } catch (error) {
      if (!(error instanceof DriverError) || tries === maxTries) throw error
      if (/bridge children/i.test(error.message)) continue
      const isTaken = /address already in use/i.test(error.message)
      if (!isTaken || config.subnet !== undefined) throw error
      taken.push(parseSubnet(address)!)
    }
  }
}

type HostNetwork = { readonly address: string; readonly subnet: Subnet }
type Rule = { readonly action: string; readonly state: string; readonly destination: string }

/**
 * What is not on the internet: private use, loopback, link-local, carrier NAT, protocol assignments,
 * benchmarks, multicast, reserved (IANA's special-purpose registry). Metadata services of clouds are in
 * link-local, 192.0.0.0/24 (Oracle) and at 168.63.129.16 (Azure). Ranges for documentation stay open:
 * nothing of a cloud or a host is there, and closed networks use them for what stands for the internet.
 */
const closedRanges = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

function guestRules(hostAddresses: readonly string[]) {
  const ranges = closedRanges.map((range) => parseSubnet(range)!)
  const outside = hostAddresses.filter((address) => {
    const subnet = parseSubnet(`${address}/32`)!
    return !ranges.some((range) => overlap(range, subnet))
  })
  const closed = [...closedRanges, ...outside.map((address) => `${address}/32`).sort()].join(',')
  const egress: Rule[] = [
    { action: 'reject', state: 'enabled', destination: closed },
    { action: 'allow', state: 'enabled', destination: '0.0.0.0/0' },
  ]
  return { egress, ingress: [] as Rule[] }
}

function summary(rules: readonly Rule[]): string {
  return JSON.stringify(
    rules.map(({ action, state, destination }) => [action, state, destination]).sort(),
  )
}

/** Every IPv4 address of the engine's host, including that of our bridge. */
async function readHostNetworks(client: IncusClient): Promise<HostNetwork[]> {
  const networks = await client.get<{ name: string }[]>('/1.0/networks', {
    query: { recursion: 1 },
  })
  const found: HostNetwork[] = []
  for (const { name } of networks) {
    const state = await client.get<{ addresses: readonly NetworkAddress[] | null }>(
      `/1.0/networks/${encodeURIComponent(name)}/state`,
    )
    for (const { family, address, netmask } of state.addresses ?? []) {
      const subnet = family === 'inet' ? parseSubnet(`${address}/${netmask}`) : undefined
      if (subnet) found.push({ address, subnet })
    }
  }
  return found
}

type NetworkAddress = {
  readonly family: string
  readonly address: string
  readonly netmask: string
}

async function subnetOf(config: EngineConfig, taken: readonly Subnet[]): Promise<string> {
  if (config.subnet !== undefined) {
    if (parseSubnet(config.subnet)) return config.subnet
    throw new DriverError(
      `not an IPv4 network: ${config.subnet}; set COMPUTER_NETWORK to one such as 10.1.0.1/20`,
      { retryable: false },
    )
  }
  const routes = config.engineDir === undefined ? [] : await readHostRoutes()
  const free = chooseSubnet([...routes, ...taken])
  if (free !== undefined) return free
  throw new DriverError(
    'no free network for machines in 10.0.0.0/8; set COMPUTER_NETWORK to a free one',
    { retryable: false },
  )
}

import { DriverError } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { ensure, type EngineConfig } from './engine-config.ts'
import { ensureGuestRules, rulesNameOf } from './guest-rules.ts'
import { listMembers } from './members.ts'
import { chooseSubnet, parseSubnet, readHostRoutes, type Subnet } from './subnet.ts'
import { removeUnusedBridge } from './sweep-host.ts'

/**
 * A bridge of our own. Guests reach the internet through NAT and nothing else: no private network, no
 * address of the host, and no other guest, not even through the gateway. The engine accepts their DHCP
 * and DNS to the bridge before these rules. Resolves to the address of the gateway.
 */
export async function ensureNetwork(client: IncusClient, config: EngineConfig): Promise<string> {
  const host = await readHostNetworks(client)
  await closeToGuests(client, config, addressesOf(host))

  const network = `/1.0/networks/${config.network}`
  const settings = {
    'security.acls': rulesNameOf(config.network),
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

/** Closes addresses of other hosts to the guests, and opens those that an earlier call closed. */
export async function closeAddresses(
  client: IncusClient,
  config: Pick<EngineConfig, 'network' | 'isShared'>,
  addresses: readonly string[],
): Promise<void> {
  const host = await readHostNetworks(client)
  await closeToGuests(client, config, [...addressesOf(host), ...addresses])
}

/** Members of a cluster share the rules. Each adds the addresses of its host, and keeps those of the others. */
function closeToGuests(
  client: IncusClient,
  { network, isShared }: Pick<EngineConfig, 'network' | 'isShared'>,
  addresses: readonly string[],
): Promise<void> {
  return ensureGuestRules(client, network, { addresses, keepsOthers: isShared })
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
        await announceNetwork(client, config.network)
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

/** A cluster makes a network once it is known which members get it. Another worker may be announcing it as well. */
async function announceNetwork(client: IncusClient, name: string): Promise<void> {
  for (const target of await listMembers(client)) {
    const body = { name, type: 'bridge' }
    try {
      await client.change('POST', '/1.0/networks', { query: { target }, body })
    } catch (error) {
      if (!(error instanceof DriverError) || !/already defined/i.test(error.message)) throw error
    }
  }
}

type HostNetwork = { readonly address: string; readonly subnet: Subnet }
function addressesOf(networks: readonly HostNetwork[]): readonly string[] {
  return networks.map(({ address }) => address)
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

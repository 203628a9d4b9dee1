import type { IncusClient } from './client.ts'
import { ensure } from './engine-config.ts'
import { overlap, parseSubnet } from './subnet.ts'

/** The engine's name for the rules of a network's guests. */
export function rulesNameOf(network: string): string {
  return `${network}-guests`
}

/**
 * Lets the guests of a network reach the internet alone, without these IPv4 addresses of hosts. With `keepsOthers`, the
 * addresses that were closed before stay closed.
 */
export async function ensureGuestRules(
  client: IncusClient,
  network: string,
  { addresses, keepsOthers }: { addresses: readonly string[]; keepsOthers: boolean },
): Promise<void> {
  const name = rulesNameOf(network)
  const path = `/1.0/network-acls/${name}`
  const first = { name, description: '', ...guestRules(addresses) }
  await ensure(client, path, '/1.0/network-acls', first)
  const current = await client.get<ReturnType<typeof guestRules> & { config: object }>(path)
  const rules = guestRules(keepsOthers ? [...addresses, ...closedAddresses(current)] : addresses)
  if (summary(current.egress) === summary(rules.egress) && current.ingress.length === 0) return
  await client.change('PUT', path, { body: { ...rules, description: '', config: current.config } })
}

type Rule = { readonly action: string; readonly state: string; readonly destination: string }

/**
 * Ranges that are not on the internet: private use, loopback, link-local, carrier NAT, protocol assignments,
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
  const outside = [...new Set(hostAddresses)].filter((address) => {
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

/** The addresses of hosts that rules close. */
function closedAddresses({ egress }: ReturnType<typeof guestRules>): readonly string[] {
  const closed = egress.flatMap(({ destination }) => destination.split(','))
  return closed.flatMap((range) => /^(.+)\/32$/.exec(range)?.[1] ?? [])
}

function summary(rules: readonly Rule[]): string {
  return JSON.stringify(
    rules.map(({ action, state, destination }) => [action, state, destination]).sort(),
  )
}

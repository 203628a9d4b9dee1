import { isIPv4, isIPv6 } from 'node:net'

/**
 * The key by which clients are rate limited: an IPv4 address, or the /64 of an IPv6 address, because one
 * home or server usually owns a whole /64.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const groups = expand(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** A wider one for IPv4, the /24: one guesser often has many addresses in it. */
export function subnetOf(address: string): string {
  const network = networkOf(address)
  return isIPv4(network) ? network.replace(/\d+$/, '0/24') : network
}

/** The eight groups of an IPv6 address in any notation. */
function expand(address: string): number[] {
  const withoutZone = address.replace(/%.*$/, '')
  const compressed = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1)
  const [head, tail] = compressed
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  if (!head || !tail) return head ?? []
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}

import { BlockList, isIP, isIPv6 } from 'node:net'

/**
 * Tells of an IP address whether it is in one of these networks, each an address or a CIDR. An IPv4-mapped IPv6
 * address counts as the IPv4 address; what is no IP address is in none.
 */
export function inNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    if (prefix === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}

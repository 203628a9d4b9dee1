import { isIP, isIPv4, isIPv6 } from 'node:net'
import { inNetworks } from '../../networks.ts'

/** Networks that are no part of the Internet, or lead to others (IANA's special-purpose registries). */
const isSpecial = inNetworks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
])
/**
 * The only part of IPv6 that the Internet uses. Outside are loopback, local and multicast addresses, and those that
 * contain an IPv4 address which a translator may forward to (NAT64, IPv4-mapped, IPv4-compatible).
 */
const isGlobalUnicast = inNetworks(['2000::/3'])

export type AddressRules = {
  /** Whether a connection may be made to an IP address: any other text may not. */
  isAllowed(address: string, protocol: string): boolean
  /** Says why nothing is sent to a URL, as far as that shows without looking up its name. */
  refusalOf(url: URL): string | undefined
}

/**
 * The addresses that webhooks may reach: those of the Internet with https, and those in the networks that the operator
 * lists also without.
 */
export function createAddressRules(networks: readonly string[]): AddressRules {
  const isListed = inNetworks(networks)
  const isAllowed = (address: string, protocol: string) =>
    isListed(address) || (protocol === 'https:' && isPublic(address))
  return {
    isAllowed,
    refusalOf({ hostname, protocol }) {
      const host = hostname.replace(/^\[(.*)\]$/, '$1')
      const isPlain = protocol !== 'https:'
      if (isIP(host) === 0) return isPlain && networks.length === 0 ? needsHttps : undefined
      if (isAllowed(host, protocol)) return undefined
      return isPlain && isPublic(host) ? needsHttps : 'the address is in a private network'
    },
  }
}

const needsHttps = 'the address must begin with https://'

function isPublic(address: string): boolean {
  if (isSpecial(address)) return false
  return isIPv4(address) || (isIPv6(address) && isGlobalUnicast(address))
}

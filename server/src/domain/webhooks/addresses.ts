import { lookup } from 'node:dns'
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'
import { plainAddress } from '../../gateway/previews/trusted-proxies.ts'

/** Networks that are no part of the Internet (IANA special-purpose registries). */
const special: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 128],
  ['::1', 128],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
]

export class AddressRefused extends Error {
  override name = 'AddressRefused'
}

/** Decides which addresses a webhook may reach: those of the Internet, and networks that the operator lists. */
export class WebhookAddresses {
  readonly #special = new BlockList()
  readonly #listed = new BlockList()
  /** Unencrypted addresses are for networks of the operator alone. */
  readonly hasListed: boolean

  constructor(listed: readonly string[]) {
    for (const [network, prefix] of special) addNetwork(this.#special, network, prefix)
    for (const text of listed) {
      const [address = '', prefix] = text.split('/')
      addNetwork(this.#listed, address, prefix === undefined ? undefined : Number(prefix))
    }
    this.hasListed = listed.length > 0
  }

  isListed(address: string): boolean {
    return check(this.#listed, address)
  }

  isAllowed(address: string): boolean {
    const plain = plainAddress(address)
    return isIP(plain) !== 0 && (this.isListed(plain) || !check(this.#special, plain))
  }

  /**
   * Checks the addresses that the connection is made to, so that a name which resolves to others a moment later
   * gains nothing. A name whose addresses are not all allowed is refused.
   */
  readonly lookup: LookupFunction = (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0)
      if (found.length === 0 || !found.every(({ address }) => this.isAllowed(address))) {
        return done(new AddressRefused(`${hostname} leads to a private network`), '', 0)
      }
      if (options.all) return done(null, found as never, 0)
      done(null, found[0]!.address, found[0]!.family)
    })
  }
}

function addNetwork(list: BlockList, network: string, prefix: number | undefined): void {
  const family = isIPv6(network) ? 'ipv6' : 'ipv4'
  if (prefix === undefined) list.addAddress(network, family)
  else list.addSubnet(network, prefix, family)
}

function check(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

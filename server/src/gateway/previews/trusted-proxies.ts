import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { splitList } from './headers.ts'

/** The operator's proxies, whose x-forwarded-for is trusted. */
export class TrustedProxies {
  readonly #list = new BlockList()

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', prefix] = network.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      if (prefix === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(prefix), family)
    }
  }

  has(address: string | undefined): boolean {
    if (address === undefined || isIP(address) === 0) return false
    return this.#list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  }

  /** The nearest address that is not a trusted proxy. */
  clientOf({ socket, headersDistinct }: IncomingMessage): string {
    const peer = plainAddress(socket.remoteAddress)
    if (!this.has(peer)) return peer
    const forwarded = splitList(headersDistinct['x-forwarded-for'])
    for (const address of forwarded.toReversed()) {
      if (isIP(address) === 0) return peer
      if (!this.has(address)) return address
    }
    return peer
  }
}

/** Dual-stack sockets report IPv4 addresses as IPv4-mapped IPv6. */
export function plainAddress(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:(?=\d+\.)/, '')
}

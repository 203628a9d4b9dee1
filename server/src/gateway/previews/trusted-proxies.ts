import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { splitList } from './headers.ts'

/** Proxies of the operator, whose word on where a request comes from is taken. */
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

  /** Who asks: the nearest address that is no proxy of ours. */
  clientOf({ socket, headersDistinct }: IncomingMessage): string {
    const here = plain(socket.remoteAddress)
    if (!this.has(here)) return here
    const told = splitList(headersDistinct['x-forwarded-for'])
    for (const address of told.toReversed()) {
      if (isIP(address) === 0) return here
      if (!this.has(address)) return address
    }
    return here
  }
}

/** An IPv4 address as such, where the socket takes both kinds. */
export function plain(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:(?=\d+\.)/, '')
}

import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { inNetworks } from '../../networks.ts'
import { splitList } from './headers.ts'

/** The operator's proxies, whose x-forwarded-for is trusted. */
export class TrustedProxies {
  readonly #isTrusted: (address: string) => boolean

  constructor(networks: readonly string[]) {
    this.#isTrusted = inNetworks(networks)
  }

  has(address: string | undefined): boolean {
    return address !== undefined && this.#isTrusted(address)
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

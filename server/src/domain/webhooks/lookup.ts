import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import type { AddressRules } from './addresses.ts'

/** Why no connection is made. The message is for the owner of the webhook. */
export class Unreachable extends Error {
  override name = 'Unreachable'
}

/**
 * Asks DNS servers, by default those of the host, and not its resolver library: that occupies a thread for each name, and
 * names whose servers never answer would keep all others waiting.
 */
export function createResolver(servers?: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: 2_000, tries: 2, maxTimeout: 4_000 })
  if (servers) resolver.setServers(servers)
  return resolver
}

/**
 * Looks up a name for a connection, and checks the very addresses that the connection is made to, so that a name which
 * resolves to others a moment later gains nothing. A name is refused unless all its addresses are allowed.
 */
export function guardLookups(
  rules: AddressRules,
  resolver: Resolver,
  protocol: string,
): LookupFunction {
  const find = callbackify(async (hostname: string) => {
    const found = await resolve(resolver, hostname)
    const isAllowed = found.every(({ address }) => rules.isAllowed(address, protocol))
    if (isAllowed) return found
    const reason = protocol === 'https:' ? 'a private network' : 'a network that needs https://'
    throw new Unreachable(`${hostname} leads into ${reason}`)
  })
  return (hostname, { all }, done) => {
    find(hostname, (error, found) => {
      if (error) done(error, '', 0)
      else if (all) done(null, found)
      else done(null, found[0]!.address, found[0]!.family)
    })
  }
}

type Found = { readonly address: string; readonly family: 4 | 6 }

/** The addresses of a name, at least one. */
async function resolve(resolver: Resolver, hostname: string): Promise<Found[]> {
  const [four, six] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const found = [...withFamily(four, 4), ...withFamily(six, 6)]
  if (found.length === 0) throw new Unreachable('the name could not be resolved')
  return found
}

function withFamily(result: PromiseSettledResult<string[]>, family: 4 | 6): Found[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
}

import { getDomain } from 'tldts'
import { ok, warn, type Check } from './check.ts'

export const previewChecks: readonly Check[] = [
  {
    name: 'preview domain',
    concerns: 'server',
    isSlow: true,
    async run(_, { previews, baseUrl, dashboardUrl }) {
      if (!previews) return ok('none: ports cannot be published')
      const site = siteOf(previews.domain)
      const hosts = [baseUrl, dashboardUrl].map((url) => new URL(url).hostname)
      const shared = hosts.find((host) => site !== null && siteOf(host) === site)
      if (shared === undefined) return ok(`${previews.domain} is a site of its own`)
      return warn(
        `previews below ${previews.domain} are of the same site (${site}) as ${shared}, where people sign in: ` +
          'their scripts can set cookies for it, and send it requests with its cookies',
        'Use a registered domain for previews alone. On https the server ignores session cookies that ' +
          'a preview has set, and on any address it refuses changes that are requested by pages of previews.',
      )
    },
  },
]

/** The registered domain, within which browsers share cookies; null for addresses and `localhost`. */
function siteOf(host: string): string | null {
  return getDomain(host, { allowPrivateDomains: true })
}

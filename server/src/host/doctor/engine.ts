import { engineBinary } from '../engine.ts'
import { fail, isAtLeast, ok, runSetup, warn, type Check } from './check.ts'

/** The Debian 13 package with all known security fixes. */
const fixedPackage = '6.0.4-2+deb13u10~'

export const engineChecks: readonly Check[] = [
  {
    name: 'engine',
    concerns: 'engine',
    async run(host) {
      const version = await host.run(engineBinary, '--version')
      if (version === null) return fail('Incus is not installed or does not run', runSetup)
      if (!isAtLeast(version, '6.0')) return fail(`Incus ${version} is too old`, runSetup)
      const package_ = await host.run('dpkg-query', '-W', '-f', '${Version}', 'incus-base')
      if (package_ && version === '6.0.4' && !(await isFixed(host, package_))) {
        return warn(
          `Incus ${package_} lacks security fixes (CVE-2026-62313, CVE-2026-81500 and others)`,
          'Run `apt-get update && apt-get install incus-base incus-client`. Debian 13 has all fixes; ' +
            'bookworm-backports may get them later.',
        )
      }
      if (isAtLeast(version, '6.0.4')) return ok(`Incus ${package_ ?? version}`)
      return warn(
        `Incus ${version} has known vulnerabilities`,
        'Install Incus 6.0.4 from Debian or a later version.',
      )
    },
  },
  {
    name: 'engine tools',
    concerns: 'engine',
    async run(host) {
      const programs = [
        'newuidmap',
        'dnsmasq',
        'nft',
        'ip',
        'bridge',
        'rsync',
        'getfattr',
        'mkfs.btrfs',
      ]
      const found = await Promise.all(
        programs.map((program) => host.run('sh', '-c', 'command -v "$1"', 'sh', program)),
      )
      const missing = programs.filter((_, index) => !found[index])
      if (missing.length === 0) return ok('all installed')
      return fail(`missing: ${missing.join(', ')}`, runSetup)
    },
  },
]

async function isFixed(host: Parameters<Check['run']>[0], version: string): Promise<boolean> {
  return (await host.run('dpkg', '--compare-versions', version, 'ge', fixedPackage)) !== null
}

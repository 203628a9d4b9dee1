import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config.ts'

const checkout = fileURLToPath(new URL('../../../../', import.meta.url))

/** What an uninstallation leaves: on this host, and where the server had its data outside of its folder. */
export function listRemains(config: Config): readonly string[] {
  const { dataDir, databaseUrl, engine, poolSource, hostAddress } = config
  const isOutside = (path: string) => !resolve(path).startsWith(`${resolve(dataDir)}/`)
  return [
    `the checkout ${checkout}`,
    'the Debian packages (`apt-get purge incus-base incus-client lxcfs` removes the engine)',
    'limits of the kernel that were raised and the control files of FUSE, until the host restarts',
    ...(databaseUrl === null ? [] : [`the database ${withoutPassword(databaseUrl)}`]),
    ...(databaseUrl === null || hostAddress === null
      ? []
      : [
          `this host in the list of the server (on another host: computer hosts lost ${config.host})`,
        ]),
    ...(engine === null
      ? []
      : 'dir' in engine
        ? [`the project \`computer-${config.host}\` of the engine in ${engine.dir}`]
        : [`the project \`computer\` of the engine ${engine.url}, with all machines`]),
    ...(poolSource === null ? [] : [`the disks on ${poolSource} (\`wipefs --all\` removes them)`]),
    ...[config.imageCacheDir, config.keyringPath].filter(isOutside),
  ]
}

/** The name of a database without the credentials in its address. */
function withoutPassword(address: string): string {
  try {
    const { host, pathname } = new URL(address)
    return `${pathname.slice(1)} at ${host}`
  } catch {
    return 'of DATABASE_URL'
  }
}

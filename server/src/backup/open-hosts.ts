import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { listDiskHosts } from '../domain/backups/disk-rows.ts'
import { findHostWith } from '../domain/hosts/hosts.ts'
import type { DiskKeeper } from '../drivers/disk-keeper.ts'
import { ImageMissing } from '../drivers/machine-driver.ts'
import type { Hosts } from '../peers/hosts.ts'
import type { BackupParts } from './back-up.ts'
import { keepDisksOfHosts } from './disks-of-hosts.ts'

type Parts = {
  readonly db: Database
  readonly config: Pick<Config, 'host'>
  readonly hosts: Pick<Hosts, 'openKeeper' | 'readImage'>
}

/**
 * Opens what the backups in one folder keep on all hosts. Throws if a host does not answer, because a backup without its
 * disks would take the place of one that has them.
 */
export async function openKeepers(
  { db, config, hosts }: Parts,
  folder: string,
): Promise<DiskKeeper> {
  const others = (await listDiskHosts(db)).filter(({ name }) => name !== config.host)
  for (const { name, unhealthy_reason: reason } of others) {
    if (reason === null) continue
    throw new Error(
      `host ${name} is unhealthy (${reason}), so the backup would lack its disks: repeat the backup once it is healthy, or give the host up with \`computer hosts lost ${name}\``,
    )
  }
  const names = [config.host, ...others.map(({ name }) => name)]
  const open = async (name: string) => ({ name, keeper: await hosts.openKeeper(name, folder) })
  return keepDisksOfHosts(await Promise.all(names.map(open)))
}

/** Reads images from this host, and those that it has never unpacked from one that has them. */
export function readFromAnyHost({ db, config, hosts }: Parts): BackupParts['readImage'] {
  return async (id, file) => {
    try {
      return await hosts.readImage(config.host, id, file)
    } catch (error) {
      const other = error instanceof ImageMissing && (await findHostWith({ db, config }, id))
      if (!other) throw error
      return hosts.readImage(other, id, file)
    }
  }
}

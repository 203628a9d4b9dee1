import { join } from 'node:path'
import { Folder } from './folder.ts'

/**
 * What systems keep on their disk of their network and their randomness, by directory. The machine id
 * itself is the engine's to change, before the machine boots; D-Bus may hold a copy of it.
 */
const leftovers = {
  'var/lib/dbus': /^machine-id$/,
  'var/lib/systemd': /^random-seed$/,
  'var/lib/dhcp': /\.leases$/,
  'var/lib/dhcpcd': /^(duid|secret)$|\.lease6?$/,
  'var/lib/NetworkManager': /^secret_key$|\.lease$/,
} as const

/** All of it is made again by those who miss it. */
export function removeLeftovers(rootPath: string): void {
  for (const [path, pattern] of Object.entries(leftovers)) {
    using folder = Folder.open(join(rootPath, path))
    for (const name of folder?.names() ?? []) {
      // Not a symlink: the usual one of D-Bus leads to the machine id of the system.
      if (pattern.test(name) && folder!.isFile(name)) folder!.remove(name)
    }
  }
}

import { join } from 'node:path'
import { Folder } from '../system/folder.ts'

/**
 * Files, by directory, with network identities and random seeds that a copied disk must not share
 * with its source. The engine changes the machine id itself before the boot; D-Bus may have a copy
 * of it.
 */
const inheritedFiles = {
  'var/lib/dbus': /^machine-id$/,
  'var/lib/systemd': /^random-seed$/,
  'var/lib/dhcp': /\.leases$/,
  'var/lib/dhcpcd': /^(duid|secret)$|\.lease6?$/,
  'var/lib/NetworkManager': /^secret_key$|\.lease$/,
} as const

/** The programs that need these files recreate them. */
export function removeInheritedState(rootPath: string): void {
  for (const [path, pattern] of Object.entries(inheritedFiles)) {
    using folder = Folder.open(join(rootPath, path))
    for (const name of folder?.names() ?? []) {
      // Not a symlink: that of D-Bus usually leads to the system's machine id.
      if (pattern.test(name) && folder!.isFile(name)) folder!.remove(name)
    }
  }
}

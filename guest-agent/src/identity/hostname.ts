import { join } from 'node:path'
import { Folder } from '../system/folder.ts'

/** Writes the host name to the disk, for the next boot. */
export function storeHostname(rootPath: string, name: string): void {
  using etc = Folder.open(join(rootPath, 'etc'))
  if (!etc) return
  if (etc.read('hostname') !== `${name}\n`) etc.write('hostname', `${name}\n`, 0o644)
  // Left alone if it is not a regular file of reasonable size.
  const before = etc.has('hosts') ? etc.read('hosts') : ''
  if (before === undefined) return
  const after = withOwnName(before, name)
  if (after !== before) etc.write('hosts', after, 0o644)
}

/** The hosts file with Debian's line for 127.0.1.1, which resolves the machine's own name. */
function withOwnName(hosts: string, name: string): string {
  const own = `127.0.1.1\t${name}`
  const others = hosts.split('\n').filter((line) => !/^127\.0\.1\.1\s/.test(line))
  if (others.every((line) => line.trim() === ''))
    others.splice(0, Infinity, '127.0.0.1\tlocalhost', '')
  return [others[0], own, ...others.slice(1)].join('\n')
}

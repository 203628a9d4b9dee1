import { join } from 'node:path'
import { Folder } from './folder.ts'

/** Keeps the machine's host name for its next boot. */
export function keepHostname(rootPath: string, name: string): void {
  using etc = Folder.open(join(rootPath, 'etc'))
  if (!etc) return
  if (etc.read('hostname') !== `${name}\n`) etc.write('hostname', `${name}\n`, 0o644)
  // What is not a file of a size to be read is left to whoever put it there.
  const before = etc.has('hosts') ? etc.read('hosts') : ''
  if (before === undefined) return
  const after = withOwnName(before, name)
  if (after !== before) etc.write('hosts', after, 0o644)
}

/** The hosts file with the one line, by Debian's custom for 127.0.1.1, that resolves our own name. */
function withOwnName(hosts: string, name: string): string {
  const own = `127.0.1.1\t${name}`
  const others = hosts.split('\n').filter((line) => !/^127\.0\.1\.1\s/.test(line))
  if (others.every((line) => line.trim() === ''))
    others.splice(0, Infinity, '127.0.0.1\tlocalhost', '')
  return [others[0], own, ...others.slice(1)].join('\n')
}

import { join } from 'node:path'
import { Folder } from './folder.ts'
import type { SystemTools } from './tools.ts'

/**
 * Gives a machine with an SSH server new host keys, and takes the old ones from any. The new are made
 * aside, in `ownPath`, and put in place of the old, so that a server which starts meanwhile finds
 * keys; if none could be made the old go all the same.
 */
export async function renewHostKeys(
  rootPath: string,
  ownPath: string,
  tools: Pick<SystemTools, 'makeHostKeys' | 'restartSshd'>,
): Promise<void> {
  using ssh = Folder.open(join(rootPath, 'etc/ssh'))
  if (!ssh) return
  const hasServer = isServerInstalled(rootPath)
  const made = new Set<string>()
  try {
    for (const [name, key] of hasServer ? await makeHostKeys(ownPath, tools) : []) {
      ssh.write(name, key, name.endsWith('.pub') ? 0o644 : 0o600)
      made.add(name)
    }
  } finally {
    for (const name of ssh.names()) {
      if (isHostKey(name) && !made.has(name)) ssh.remove(name)
    }
  }
  if (hasServer) await tools.restartSshd()
}

function isServerInstalled(rootPath: string): boolean {
  using folder = Folder.open(join(rootPath, 'usr/sbin'))
  return folder?.isFile('sshd') ?? false
}

/** Text of each key, by the name of its file. */
async function makeHostKeys(
  ownPath: string,
  tools: Pick<SystemTools, 'makeHostKeys'>,
): Promise<Map<string, string>> {
  using own = Folder.make(ownPath)
  own.removeFolder(aside)
  try {
    using folder = own.makeFolder(aside)
    using etc = folder.makeFolder('etc')
    using ssh = etc.makeFolder('ssh')
    await tools.makeHostKeys(join(ownPath, aside))
    const names = ssh.names().filter(isHostKey)
    return new Map(names.map((name) => [name, ssh.read(name) ?? '']))
  } finally {
    own.removeFolder(aside)
  }
}

const aside = 'host-keys'

function isHostKey(name: string): boolean {
  return name.startsWith('ssh_host_')
}

import { join } from 'node:path'
import { Folder } from '../system/folder.ts'
import type { SystemTools } from './tools.ts'

/**
 * Removes the SSH host keys, and makes new ones if the machine has an SSH server. New keys are made
 * below `statePath` and then replace the old, so that a server that starts meanwhile finds keys. If
 * making them fails, the old keys are removed all the same.
 */
export async function renewHostKeys(
  rootPath: string,
  statePath: string,
  tools: Pick<SystemTools, 'makeHostKeys' | 'restartSshd'>,
): Promise<void> {
  using ssh = Folder.open(join(rootPath, 'etc/ssh'))
  if (!ssh) return
  const hasServer = isServerInstalled(rootPath)
  const made = new Set<string>()
  try {
    for (const [name, key] of hasServer ? await makeHostKeys(statePath, tools) : []) {
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

/** The text of each key by file name. */
async function makeHostKeys(
  statePath: string,
  tools: Pick<SystemTools, 'makeHostKeys'>,
): Promise<Map<string, string>> {
  using state = Folder.make(statePath)
  state.removeFolder(stagingName)
  try {
    using folder = state.makeFolder(stagingName)
    using etc = folder.makeFolder('etc')
    using ssh = etc.makeFolder('ssh')
    await tools.makeHostKeys(join(statePath, stagingName))
    const names = ssh.names().filter(isHostKey)
    return new Map(names.map((name) => [name, ssh.read(name) ?? '']))
  } finally {
    state.removeFolder(stagingName)
  }
}

const stagingName = 'host-keys'

function isHostKey(name: string): boolean {
  return name.startsWith('ssh_host_')
}

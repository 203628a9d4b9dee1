import type { GuestIdentity } from '@computer/contract'
import { randomBytes } from 'node:crypto'
import type { FakeDisk } from './disk.ts'

const machinePath = '/var/lib/computer/machine'
const hostnamePath = '/etc/hostname'
const hostKeyPath = '/etc/ssh/ssh_host_ed25519_key.pub'
const asRoot = { owner: 'root' } as const

/** As the real agent: a disk that came from another machine's gets a host key of its own. */
export function takeIdentity(disk: FakeDisk, { machine, hostname }: GuestIdentity): void {
  if (machineOf(disk) !== machine) {
    write(disk, hostKeyPath, `fake ${randomBytes(16).toString('hex')}`)
    write(disk, machinePath, machine)
  }
  if (read(disk, hostnamePath) !== hostname) write(disk, hostnamePath, hostname)
}

export function machineOf(disk: FakeDisk): string | null {
  return read(disk, machinePath)
}

export function hostKeyOf(disk: FakeDisk): string | null {
  return read(disk, hostKeyPath)
}

export function hostnameOf(disk: FakeDisk): string {
  return read(disk, hostnamePath) ?? 'machine'
}

function read(disk: FakeDisk, path: string): string | null {
  const node = disk.find(path)
  return node?.type === 'file' ? node.bytes.toString().trim() : null
}

function write(disk: FakeDisk, path: string, line: string): void {
  disk.write(path, Buffer.from(`${line}\n`), asRoot)
}

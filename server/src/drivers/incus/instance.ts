import { guestMountPath } from '@computer/contract'
import type { MachineRef, MachineSpec } from '../machine-driver.ts'
import { DriverError } from '../machine-driver.ts'

const machineId = /^mch_([0-9a-z]{20,32})$/
const instanceName = /^mch-([0-9a-z]{20,32})-g(0|[1-9][0-9]{0,8})$/
const imageId = /^img_[0-9a-z]{20,32}$/

/** The instance that is this machine. Our id and generation, and no caller's string, are in it. */
export function nameOf(ref: MachineRef): string {
  const id = machineId.exec(ref.id)?.[1]
  const name = `mch-${id}-g${ref.generation}`
  if (id === undefined || !instanceName.test(name)) {
    throw new DriverError(`not a machine: ${ref.id}, generation ${ref.generation}`, {
      retryable: false,
    })
  }
  return name
}

export function refOf(name: string): MachineRef | undefined {
  const match = instanceName.exec(name)
  if (!match) return undefined
  return { id: `mch_${match[1]}`, generation: Number(match[2]) }
}

export function aliasOf(id: string): string {
  if (imageId.test(id)) return id
  throw new DriverError(`not an image: ${id}`, { retryable: false })
}

export type InstanceSettings = {
  readonly pool: string
  readonly network: string
  /** Cores of the host: the engine refuses to start a machine that asks for more. */
  readonly hostCpus: number
  /** The host's folder with the guest agent, mounted read-only. */
  readonly guestDir: string | undefined
}

/** What the engine is told of a machine. Only numbers of the spec reach it. */
export function instanceBody(spec: MachineSpec, settings: InstanceSettings) {
  return {
    architecture: '',
    profiles: [],
    ephemeral: false,
    config: { ...limits(spec, settings), ...isolation(spec) },
    devices: {
      root: { type: 'disk', path: '/', pool: settings.pool, size: `${count(spec.diskGb)}GiB` },
      eth0: {
        type: 'nic',
        name: 'eth0',
        network: settings.network,
        'security.port_isolation': 'true',
        'security.mac_filtering': 'true',
        'security.ipv4_filtering': 'true',
        'security.ipv6_filtering': 'true',
      },
      ...(settings.guestDir !== undefined && {
        agent: { type: 'disk', source: settings.guestDir, path: guestMountPath, readonly: 'true' },
      }),
    },
  }
}

export function limits(spec: MachineSpec, settings: Pick<InstanceSettings, 'hostCpus'>) {
  return {
    'limits.cpu': String(Math.min(count(spec.cpu), settings.hostCpus)),
    'limits.memory': `${count(spec.memoryMb)}MiB`,
    'limits.memory.enforce': 'hard',
    'limits.memory.swap': 'false',
    'limits.processes': '8192',
  }
}

function isolation(spec: MachineSpec) {
  return {
    // The engine would start a machine again that powered itself off while the daemon was down.
    'boot.autostart': 'false',
    'security.guestapi': 'false',
    'security.privileged': 'false',
    // The engine's own choice gives concurrent creates the same range.
    'security.idmap.isolated': 'true',
    'security.idmap.base': String(count(spec.uidBase)),
    'security.idmap.size': '65536',
    'security.syscalls.deny_default': 'true',
    'security.syscalls.deny_compat': 'true',
    'security.syscalls.deny': deniedSubvolumeCalls,
  }
}

/**
 * A subvolume made inside a machine would not count toward its disk. Creating one, snapshotting and
 * the second forms of both are refused; the mask keeps dirty upper bits from slipping through.
 */
const deniedSubvolumeCalls = [0x5000940e, 0x50009418, 0x50009401, 0x50009417]
  .map((call) => `ioctl errno 1 [1,0x${call.toString(16)},SCMP_CMP_MASKED_EQ,0xffffffff]`)
  .join('\n')

function count(value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new DriverError(`not a size: ${value}`, { retryable: false })
}

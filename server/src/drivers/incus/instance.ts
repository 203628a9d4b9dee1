import { guestMountPath, type CaptureId } from '@computer/contract'
import { createHash } from 'node:crypto'
import type { MachineRef, MachineSpec } from '../machine-driver.ts'
import { DriverError } from '../machine-driver.ts'
import { deniedCalls, deniedCallsKey } from './denied-calls.ts'

const machineId = /^mch_([0-9a-z]{20,32})$/
const instanceName = /^mch-([0-9a-z]{20,32})-g(0|[1-9][0-9]{0,8})$/
const captureId = /^cap_([0-9a-z]{20,32})$/
const captureName = /^cap-([0-9a-z]{20,32})$/
const imageId = /^img_[0-9a-z]{20,32}$/

/** The name of a machine's instance, made from our own id and generation and no caller's string. */
export function nameOf(ref: MachineRef): string {
  const id = machineId.exec(ref.id)?.[1]
  const name = `mch-${id}-g${ref.generation}`
  if (id === undefined || !instanceName.test(name)) {
    throw new DriverError(`invalid machine: ${ref.id}, generation ${ref.generation}`, {
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

export function captureNameOf(id: CaptureId): string {
  const rest = captureId.exec(id)?.[1]
  if (rest === undefined) throw new DriverError(`invalid capture id: ${id}`, { retryable: false })
  return `cap-${rest}`
}

/** The name of a capture's instance until all of its disk is there. */
export function receivedNameOf(id: CaptureId): string {
  return `received-${captureNameOf(id)}`
}

export function captureIdOf(name: string): CaptureId | undefined {
  const rest = captureName.exec(name)?.[1]
  return rest === undefined ? undefined : `cap_${rest}`
}

export function aliasOf(id: string): string {
  if (imageId.test(id)) return id
  throw new DriverError(`invalid image id: ${id}`, { retryable: false })
}

export type InstanceSettings = {
  readonly pool: string
  readonly network: string
  /** Cores of the host: the engine refuses to start a machine that asks for more. */
  readonly hostCpus: number
  /** The host's folder with the guest agent, mounted read-only. */
  readonly guestDir: string | undefined
  /** A script that LXC runs on the host at each start, where the engine has it in no template. */
  readonly startScript: string | undefined
}

/** The engine's configuration of a machine. Of the spec, only numbers and our own ids go into it. */
export function instanceBody(spec: MachineSpec, settings: InstanceSettings) {
  return {
    architecture: '',
    profiles: [],
    ephemeral: false,
    config: {
      ...limits(spec, settings),
      ...isolation(spec),
      ...identity(spec),
      ...startHooks(settings),
      [diskSizeKey]: String(bytesOf(spec)),
    },
    devices: {
      root: { type: 'disk', path: '/', pool: settings.pool, size: `${bytesOf(spec)}B` },
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

/**
 * The engine's configuration of a capture. The engine copies every other setting from the machine. A
 * capture never runs, so it has no uid range and no network link.
 */
export function captureBody(settings: Pick<InstanceSettings, 'pool'>) {
  return {
    architecture: '',
    profiles: [],
    ephemeral: false,
    config: {
      'boot.autostart': 'false',
      'security.idmap.isolated': 'false',
      'security.idmap.base': '',
      'security.idmap.size': '',
      [initOptionsKey]: '',
      [diskSizeKey]: '',
    },
    devices: {
      root: { type: 'disk', path: '/', pool: settings.pool },
      eth0: { type: 'none' },
      agent: { type: 'none' },
    },
  }
}

/** systemd reads it in place of the kernel's command line (systemd, docs/ENVIRONMENT.md). */
const initOptionsKey = 'environment.SYSTEMD_PROC_CMDLINE'

/**
 * The disk size that the machine's owner sees. The engine's size of the root device is only the initial
 * limit, which is adjusted later (disks/limits.ts).
 */
export const diskSizeKey = 'user.disk_bytes'

export function bytesOf({ diskGb }: Pick<MachineSpec, 'diskGb'>): number {
  return count(diskGb) * 2 ** 30
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
    // The engine would restart a machine that powered itself off while the daemon was down.
    'boot.autostart': 'false',
    // An evacuation of a cluster's member would take the machine away from its host.
    'cluster.evacuate': 'stop',
    'security.guestapi': 'false',
    'security.privileged': 'false',
    // The engine would give concurrent creates the same range.
    'security.idmap.isolated': 'true',
    'security.idmap.base': String(count(spec.uidBase)),
    'security.idmap.size': '65536',
    'security.syscalls.deny_default': 'true',
    'security.syscalls.deny_compat': 'true',
    [deniedCallsKey]: deniedCalls,
  }
}

/** The hooks that a private engine has in its template (host/engine-lxc.ts). */
function startHooks({ startScript }: Pick<InstanceSettings, 'startScript'>) {
  if (startScript === undefined) return {}
  const hooks = ['pre-start', 'start-host'].map((moment) => `lxc.hook.${moment} = ${startScript}`)
  return { 'raw.lxc': ['lxc.log.level = DEBUG', ...hooks].join('\n') }
}

/**
 * The init uses this machine id and writes it to /etc. So a copy of another machine's disk has its own
 * id from the first moment, and a restored machine keeps its id.
 */
function identity({ id }: MachineRef) {
  const machineId = createHash('sha256').update(`machine-id ${id}`).digest('hex').slice(0, 32)
  return { [initOptionsKey]: `systemd.machine_id=${machineId}` }
}

function count(value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new DriverError(`invalid size: ${value}`, { retryable: false })
}

import type { EngineMachine, EngineState, MachineDriver, MachineRef } from '../machine-driver.ts'
import { DriverError } from '../machine-driver.ts'
import { IncusClient, type EngineAccess } from './client.ts'
import { watchMachines } from './events.ts'
import { importImage, isImageReady } from './images.ts'
import { nameOf, refOf, type InstanceSettings } from './instance.ts'
import {
  absent,
  findSettled,
  isComplete,
  isStatus,
  listSettled,
  removeInstance,
  type Instance,
} from './instances.ts'
import { readLastExit } from './last-exit.ts'
import { createMachine, readLog, resizeMachine, startMachine, stopMachine } from './lifecycle.ts'
import type { EnginePlace } from './place.ts'
import { checkPool, prepareEngine, readHostCpus } from './prepare.ts'
import { openAgentStream } from './stream.ts'
import { sweepEngine } from './sweep.ts'

export type IncusOptions = { readonly access: EngineAccess } & Partial<EnginePlace> & {
    /** The host's folder with the guest agent. Without it machines get none. */
    readonly guestDir?: string | undefined
  }

/**
 * Machines as Incus containers. The instance is named after the machine and its generation, and
 * everything that is ours is in one project of the engine.
 *
 * Nothing is looked up before it is done: each call asks for the change at once, and only a refusal
 * makes it look what there is. That keeps the way from create to running short.
 */
export function createIncusDriver(options: IncusOptions): MachineDriver {
  const client = new IncusClient(options.access)
  const place: EnginePlace = {
    project: options.project ?? 'computer',
    pool: options.pool ?? 'default',
    network: options.network ?? 'computer0',
    engineDir: options.engineDir,
    poolSource: options.poolSource,
    poolSizeGib: options.poolSizeGib,
    subnet: options.subnet,
    warn: options.warn ?? (() => {}),
  }
  const { project, pool, network } = place
  const instances = { client, project }
  let hostCpus: Promise<number> | undefined

  async function readSettings(): Promise<InstanceSettings> {
    hostCpus ??= readHostCpus(client)
    hostCpus.catch(() => (hostCpus = undefined))
    return { pool, network, guestDir: options.guestDir, hostCpus: await hostCpus }
  }

  return {
    prepare: () => prepareEngine(client, place),
    ping: () => checkPool(client, pool),
    hasImage: (id) => isImageReady(client, pool, id),
    addImage: (id, files) => importImage(client, place, id, files),
    create: async (spec) => createMachine(instances, await readSettings(), spec),
    resize: async (spec) => resizeMachine(instances, await readSettings(), spec),
    start: (ref) => startMachine(instances, ref),
    stop: (ref, { graceMs }) => stopMachine(instances, ref, graceMs),
    destroy: async (ref) => removeInstance(instances, nameOf(ref)),
    inspect: async (ref) => stateOf(await findSettled(instances, nameOf(ref))),
    lastExit: async (ref) => readLastExit(await named(ref, readLog(instances, nameOf(ref)))),
    list: async () => (await listSettled(instances)).flatMap(machineOf),
    watch: (signal) => watchMachines(client, project, signal),
    sweep: () => sweepEngine(instances, place),
    connect: (ref) => named(ref, openAgentStream(client, nameOf(ref), project)),
    [Symbol.asyncDispose]: async () => client[Symbol.dispose](),
  }
}

/** The engine's own words for a machine that is not there mean nothing to our callers. */
async function named<T>(ref: MachineRef, call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw isStatus(error, 404) ? absent(ref) : error
  }
}

/** A half-made instance is no machine: create makes it anew, and sweep removes it. */
function stateOf(instance: Instance | undefined): EngineState {
  if (!instance || !isComplete(instance)) return 'absent'
  if (instance.status === 'Error') {
    throw new DriverError(`the engine does not know the state of ${instance.name}`, {
      retryable: true,
    })
  }
  return instance.status === 'Stopped' ? 'stopped' : 'running'
}

function machineOf(instance: Instance): EngineMachine[] {
  const ref = refOf(instance.name)
  if (!ref || !isComplete(instance)) return []
  const state = instance.status === 'Stopped' ? 'stopped' : 'running'
  return [{ ref, state, createdAt: new Date(instance.created_at) }]
}

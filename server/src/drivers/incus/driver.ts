import type { EngineMachine, EngineState, MachineDriver, MachineRef } from '../machine-driver.ts'
import { DriverError } from '../machine-driver.ts'
import { createDirectStreams } from './agent/direct-stream.ts'
import { openAgentStream } from './agent/engine-stream.ts'
import { captureMachine, listCaptures } from './captures.ts'
import { IncusClient, type EngineAccess } from './client.ts'
import { createMachine } from './create.ts'
import { createDiskLimits } from './disks/limits.ts'
import { createDiskUsage } from './disks/usage.ts'
import { createEngine, type Engine } from './engine.ts'
import { watchMachines } from './events.ts'
import { freezeMachine, isFrozen, thawMachine } from './freezer.ts'
import { importImage, isImageReady, readImageFile } from './images.ts'
import { captureNameOf, nameOf, refOf } from './instance.ts'
import {
  machineAbsent,
  findSettled,
  isComplete,
  isStatus,
  listSettled,
  removeInstance,
  type Instance,
} from './instances.ts'
import { openDiskKeeper } from './kept-disks.ts'
import { readLastExit } from './last-exit.ts'
import { readLog, resizeMachine, startMachine, stopMachine, wakeMachine } from './lifecycle.ts'
import { readMemory, readMemoryFromEngine } from './memory.ts'
import { completeConfig, type EngineConfig } from './engine-config.ts'
import { checkPool, prepareEngine } from './prepare.ts'
import { measureCapacity } from './disks/capacity.ts'
import { closeAddresses } from './network.ts'
import { storageName } from './disks/host-pool.ts'
import { sweepEngine } from './sweep.ts'
import { receiveCapture, sendCapture } from './transfer.ts'

export type IncusOptions = { readonly access: EngineAccess } & Partial<EngineConfig> & {
    /** The host's folder with the guest agent. Without it machines get none. */
    readonly guestDir?: string | undefined
    /** False: agents are reached through the engine even on its own host. */
    readonly directAgents?: boolean | undefined
  }

/**
 * Machines as Incus containers. An instance is named after its machine and generation, and all our
 * instances are in one project of the engine.
 *
 * Calls request a change without checking the current state first, and look it up only when the
 * engine refuses. This keeps the path from create to running short.
 */
export function createIncusDriver(options: IncusOptions): MachineDriver {
  const client = new IncusClient(options.access)
  const config = completeConfig(options)
  const engine = createEngine(client, config, options.guestDir)
  const limits = createDiskLimits(engine)
  const measureDisk = createDiskUsage(engine)
  const openDirectly = createDirectStreams()
  const isDirect = engine.isOnHost && options.directAgents !== false

  const connectAgent = async (ref: MachineRef) => {
    const name = nameOf(ref)
    const direct = isDirect ? await openDirectly(storageName(config.project, name)) : undefined
    return direct ?? openAgentStream(client, name, config.project)
  }

  return {
    async prepare() {
      await prepareEngine(client, config)
      engine.invalidate()
    },
    closeAddresses: (addresses) => closeAddresses(client, config, addresses),
    ping: () => checkPool(client, config.pool),
    hasImage: (id) => isImageReady(engine, id),
    addImage: (id, files) => importImage(engine, id, files),
    readImage: (id, file) => readImageFile(client, config, id, file),
    create: (spec) => createMachine(engine, spec),
    resize: (spec) => resizeMachine(engine, limits, spec),
    start: (ref) => startMachine(engine, ref),
    stop: (ref, { graceMs }) => stopMachine(engine, ref, graceMs),
    destroy: async (ref) => removeInstance(engine, nameOf(ref)),
    capture: (ref, id) => captureMachine(engine, ref, id),
    removeCapture: (id) => limits.removeCapture(captureNameOf(id)),
    sendCapture: (id, transfer) => sendCapture(engine, id, transfer),
    receiveCapture: (id, transfer, stream) => receiveCapture(engine, id, transfer, stream),
    listCaptures: () => listCaptures(engine),
    freeze: (ref) => explainAbsent(ref, freezeMachine(engine, ref)),
    wake: (spec) => wakeMachine(engine, limits, spec),
    thaw: (ref) => thawMachine(engine, ref),
    measureDisk: (ref) => explainAbsent(ref, measureDisk(ref)),
    measurePool: () => measureCapacity(client, config),
    measureMemory: async () => (engine.isOnHost ? readMemory() : readMemoryFromEngine(client)),
    adjustDiskLimits: () => limits.adjustAll(),
    inspect: async (ref) => stateOf(await findSettled(engine, nameOf(ref))),
    lastExit: async (ref) => {
      const log = await explainAbsent(ref, readLog(engine, nameOf(ref)))
      return readLastExit(log, new Date())
    },
    list: () => listMachines(engine),
    watch: (signal) => watchMachines(client, config.project, signal),
    sweep: () => sweepEngine(engine, limits),
    openKeeper: (keeper) => openDiskKeeper(engine, limits, keeper),
    connect: (ref) => explainAbsent(ref, connectAgent(ref)),
    [Symbol.asyncDispose]: async () => client[Symbol.dispose](),
  }
}

/** Replaces the engine's own error for an instance that does not exist. */
async function explainAbsent<T>(ref: MachineRef, call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw isStatus(error, 404) ? machineAbsent(ref) : error
  }
}

/** An incomplete instance counts as absent: create replaces it, and sweep removes it. */
function stateOf(instance: Instance | undefined): EngineState {
  if (!instance || !isComplete(instance)) return 'absent'
  if (instance.status === 'Error') {
    throw new DriverError(`the engine reports no state for ${instance.name}`, {
      retryable: true,
    })
  }
  return instance.status === 'Stopped' ? 'stopped' : 'running'
}

async function listMachines(engine: Engine): Promise<readonly EngineMachine[]> {
  const machines = (await listSettled(engine)).map(async (instance): Promise<EngineMachine[]> => {
    const ref = refOf(instance.name)
    if (!ref || !isComplete(instance)) return []
    const state = instance.status === 'Stopped' ? 'stopped' : 'running'
    const createdAt = new Date(instance.created_at)
    return [{ ref, state, isFrozen: await isFrozen(engine.freezer, instance), createdAt }]
  })
  return (await Promise.all(machines)).flat()
}

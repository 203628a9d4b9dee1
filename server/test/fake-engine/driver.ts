import type { CaptureId } from '@computer/contract'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  DriverError,
  ImageMissing,
  PoolFull,
  type CaptureSize,
  type MachineDriver,
  type MachineRef,
  type MachineSpec,
  type Transfer,
} from '../../src/drivers/machine-driver.ts'
import { FakeDisk } from './disk.ts'
import { openFakeKeeper } from './kept-disks.ts'
import type { FakeStore } from './store.ts'

export function createFakeDriver(store: FakeStore): MachineDriver {
  const { faults } = store
  return {
    prepare: () => faults.run('prepare', () => {}),
    closeAddresses: (addresses) =>
      faults.run('closeAddresses', () => void (store.closedAddresses = addresses)),
    ping: () => faults.run('ping', () => {}),
    hasImage: (id) => faults.run('hasImage', () => store.images.has(id)),
    addImage: (id) => faults.run('addImage', () => void store.images.add(id)),
    readImage: (id, file) =>
      faults.run('readImage', () => {
        if (!store.images.has(id)) throw new ImageMissing(id)
        return Readable.from([Buffer.from(`${file} of ${id}`)])
      }),
    create: (spec) => faults.run('create', () => create(store, spec)),
    resize: (spec) => faults.run('resize', () => resize(store, spec)),
    start: (ref) =>
      faults.run('start', () => {
        if (store.get(ref).listed.state === 'stopped') store.start(ref)
        else store.thaw(ref)
      }),
    stop: (ref) =>
      faults.run('stop', () => {
        if (store.get(ref).listed.state === 'stopped') return undefined
        return store.stop(ref, { kind: 'poweroff', reason: 'the machine was stopped' })
      }),
    destroy: (ref) => faults.run('destroy', () => store.remove(ref)),
    capture: (ref, id) => faults.run('capture', () => capture(store, ref, id)),
    removeCapture: (id) => faults.run('removeCapture', () => store.captures.remove(id)),
    sendCapture: (id, { base }) => faults.run('sendCapture', () => send(store, id, base)),
    receiveCapture: (id, transfer, stream) =>
      faults.run('receiveCapture', () => receive(store, id, transfer, stream)),
    listCaptures: () => faults.run('listCaptures', () => store.captures.list()),
    freeze: (ref) => faults.run('freeze', () => freeze(store, ref)),
    wake: (spec) => faults.run('wake', () => wake(store, spec)),
    thaw: (ref) => faults.run('thaw', () => store.thaw(ref)),
    adjustDiskLimits: () => faults.run('adjustDiskLimits', () => {}),
    measureDisk: (ref) => faults.run('measureDisk', () => store.disk(ref).contentBytes()),
    measurePool: () => faults.run('measurePool', () => ({ ...store.pool })),
    measureMemory: () => faults.run('measureMemory', () => ({ ...store.memory })),
    inspect: (ref) => faults.run('inspect', () => store.find(ref)?.listed.state ?? 'absent'),
    lastExit: (ref) => faults.run('lastExit', () => store.get(ref).lastExit),
    list: () => faults.run('list', () => store.list()),
    watch: (signal) => watch(store, signal),
    sweep: () => faults.run('sweep', () => {}),
    openKeeper: (folder) => faults.run('openKeeper', () => openFakeKeeper(store, folder)),
    connect: (ref) => faults.run('connect', () => store.connect(ref)),
    [Symbol.asyncDispose]: async () => {},
  }
}

function create(store: FakeStore, spec: MachineSpec): void {
  if (store.find(spec)) return
  if (spec.captureId === null && !store.images.has(spec.imageId)) {
    throw new ImageMissing(spec.imageId)
  }
  const base = spec.captureId === null ? null : store.captures.get(spec.captureId)
  if (store.pool.freeBytes === 0) throw new PoolFull()
  store.add({ ...spec }, base)
}

function capture(store: FakeStore, ref: MachineRef, id: CaptureId): CaptureSize {
  const { disk, base } = store.get(ref)
  store.thaw(ref)
  const known = store.captures.sizeOf(id)
  if (known) return known
  if (store.pool.freeBytes === 0) throw new PoolFull()
  return store.captures.take(id, disk, base)
}

/** The content of the disk. A disk as the image has it has none. */
function send(store: FakeStore, id: CaptureId, base: CaptureId | null): Readable {
  if (base !== null) store.captures.get(base)
  const disk = store.captures.get(id)
  return Readable.from(disk ? [disk.archive()] : [])
}

async function receive(
  store: FakeStore,
  id: CaptureId,
  { imageId, base }: Transfer,
  stream: Readable,
): Promise<void> {
  if (store.captures.sizeOf(id)) return void stream.destroy()
  if (!store.images.has(imageId)) throw new ImageMissing(imageId)
  if (base !== null) store.captures.get(base)
  if (store.pool.freeBytes === 0) throw new PoolFull()
  const archive = await buffer(stream)
  store.captures.add(id, archive.length > 0 ? new FakeDisk(archive) : null)
}

function resize(store: FakeStore, spec: MachineSpec): void {
  const machine = store.get(spec)
  if (machine.listed.state === 'running') {
    throw new DriverError('a running machine cannot be resized', { retryable: false })
  }
  setLimits(store, spec)
}

function freeze(store: FakeStore, ref: MachineRef): void {
  requireRunning(store, ref)
  store.freeze(ref)
}

function requireRunning(store: FakeStore, ref: MachineRef): void {
  if (store.get(ref).listed.state === 'running') return
  throw new DriverError('the machine does not run', { retryable: true })
}

function wake(store: FakeStore, spec: MachineSpec): void {
  requireRunning(store, spec)
  store.thaw(spec)
  setLimits(store, spec)
}

/** A disk never shrinks. */
function setLimits(store: FakeStore, spec: MachineSpec): void {
  const { spec: known } = store.get(spec)
  const diskGb = Math.max(spec.diskGb, known.diskGb)
  store.setSpec({ ...known, cpu: spec.cpu, memoryMb: spec.memoryMb, diskGb })
}

function watch(store: FakeStore, signal: AbortSignal): AsyncIterable<MachineRef> {
  // Keyed by machine, so that a slow reader costs at most one entry per machine.
  const changed = new Map<string, MachineRef>()
  let wake = () => {}
  const stop = store.onChange((ref) => {
    changed.set(`${ref.id}.${ref.generation}`, ref)
    wake()
  })
  const onAbort = () => {
    stop()
    wake()
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', onAbort, { once: true })

  return (async function* () {
    try {
      while (!signal.aborted) {
        const [next] = changed
        if (next) {
          changed.delete(next[0])
          yield next[1]
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      stop()
    }
  })()
}

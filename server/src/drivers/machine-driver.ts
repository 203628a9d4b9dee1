import type { CaptureId, ImageId, MachineId } from '@computer/contract'
import type { Duplex, Readable } from 'node:stream'
import type { DiskKeeper } from './disk-keeper.ts'

/**
 * The engine that runs machines. Implemented by incus/ and by server/test/fake-engine, both held to
 * server/test/conformance/machine-driver.ts.
 *
 * Every call names the machine by our own id and generation and is idempotent: asking for a state that
 * already holds succeeds. A call that may succeed later throws DriverError with `retryable: true`.
 */
export interface MachineDriver extends AsyncDisposable {
  /** Resolves when the engine answers and its pool, network and project are configured. */
  prepare(): Promise<void>
  /**
   * Closes these IPv4 addresses to machines, as private addresses and those of the engine's own host are. Replaces those
   * of an earlier call.
   */
  closeAddresses(addresses: readonly string[]): Promise<void>
  /** A cheap check that the engine answers and can run machines. */
  ping(): Promise<void>

  /** Whether machines can be created from the image without unpacking it first. */
  hasImage(id: ImageId): Promise<boolean>
  /** Adds an image and unpacks it once, so that no create has to. */
  addImage(id: ImageId, files: ImageFiles): Promise<void>
  /** The files of an image that was added, for the engine of another host. */
  readImage(id: ImageId, file: ImageFile): Promise<Readable>

  /**
   * Makes the machine's disk from its image or from a capture, and leaves the machine stopped. A disk
   * that was copied from another machine boots with this machine's own machine id.
   */
  create(spec: MachineSpec): Promise<void>
  /** Changes size limits of a stopped machine. A disk never shrinks. */
  resize(spec: MachineSpec): Promise<void>
  start(ref: MachineRef): Promise<void>
  /** Resolves when the guest is down. Asks it to shut down and pulls the plug after `graceMs`. */
  stop(ref: MachineRef, options: { readonly graceMs: number }): Promise<void>
  /** Removes machine and disk in any state. */
  destroy(ref: MachineRef): Promise<void>

  /**
   * Copies a machine's disk as it is at one instant. A running machine is frozen for the copy, and
   * thawed even if the copy fails. The copy shares unchanged data and depends on no other disk. Replaces
   * the leftovers of an earlier call that broke off.
   */
  capture(ref: MachineRef, id: CaptureId): Promise<CaptureSize>
  /** Removes a capture. Disks made from it stay. */
  removeCapture(id: CaptureId): Promise<void>
  /**
   * Streams a capture for the engine of another host: what differs from the base, which the other engine has. The
   * stream fails if it cannot be read to its end.
   */
  sendCapture(id: CaptureId, transfer: Transfer): Promise<Readable>
  /** Makes the capture from such a stream. One that breaks off leaves nothing. Does nothing if the capture exists. */
  receiveCapture(id: CaptureId, transfer: Transfer, stream: Readable): Promise<void>
  /** Every capture in our engine project, including incomplete ones and those without a row. */
  listCaptures(): Promise<readonly EngineCapture[]>
  /** Freezes a running machine until `wake`, `thaw`, `start` or a capture ends it, or it is stopped. */
  freeze(ref: MachineRef): Promise<void>
  /** Thaws a running machine and gives it the limits of the spec. Its disk never shrinks. */
  wake(spec: MachineSpec): Promise<void>
  /** Thaws a machine that was left frozen by a capture that broke off. */
  thaw(ref: MachineRef): Promise<void>
  /**
   * Adjusts the limits of disks to the data that captures retain after their machine deleted it. Call it
   * every few seconds.
   */
  adjustDiskLimits(): Promise<void>
  /**
   * The bytes that a machine holds on its disk beyond its image, which is what its size limits. The
   * result may be some seconds old, and an unusual disk takes seconds to measure.
   */
  measureDisk(ref: MachineRef): Promise<number>
  /** The size of the pool that holds every disk, and its free space. */
  measurePool(): Promise<{ readonly totalBytes: number; readonly freeBytes: number }>
  /** The memory of the engine's host, and how much of it is available to programs. */
  measureMemory(): Promise<HostMemory>

  /** The engine's current state of the machine. A frozen machine counts as running. */
  inspect(ref: MachineRef): Promise<EngineState>
  /**
   * How the last run of a stopped machine ended. Meaningful only if no call stopped it: a forced stop
   * may look like `died`.
   */
  lastExit(ref: MachineRef): Promise<LastExit>
  /** Every machine in our engine project, including those without a row. */
  list(): Promise<readonly EngineMachine[]>
  /**
   * Yields machines whose state changed in the engine, and `all` when changes may have been missed.
   * Only a notification: `list` is authoritative.
   */
  watch(signal: AbortSignal): AsyncIterable<MachineRef | 'all'>
  /** Removes the leftovers of failed starts: network links, incomplete instances. */
  sweep(): Promise<void>
  /** Opens what the backups in one folder keep. The folder is named by lower-case letters and digits. */
  openKeeper(folder: string): Promise<DiskKeeper>

  /** A byte stream to the agent's socket inside a running machine. The caller destroys it. */
  connect(ref: MachineRef): Promise<Duplex>
}

export type HostMemory = { readonly totalBytes: number; readonly availableBytes: number }

/** A machine and the generation of its disk. A restore makes the next generation. */
export type MachineRef = { readonly id: MachineId; readonly generation: number }

export type Transfer = {
  /** The image that the capture derives from. */
  readonly imageId: ImageId
  /** Another capture of the same machine, or null for the image. */
  readonly base: CaptureId | null
}

export type EngineCapture = { readonly id: CaptureId; readonly createdAt: Date }
/** The data on the captured disk that the machine itself wrote. */
export type CaptureSize = { readonly writtenBytes: number }

export type MachineSpec = MachineRef & {
  readonly imageId: ImageId
  /** The capture that the disk is made from, or null for the image. */
  readonly captureId: CaptureId | null
  readonly cpu: number
  readonly memoryMb: number
  readonly diskGb: number
  /** The first of 65,536 host uids that are reserved for this machine. */
  readonly uidBase: number
}

export const imageFileNames = ['metadata', 'rootfs'] as const
export type ImageFile = (typeof imageFileNames)[number]
export type ImageFiles = { readonly metadataPath: string; readonly rootfsPath: string }

export type EngineState = 'running' | 'stopped' | 'absent'
export type EngineMachine = {
  readonly ref: MachineRef
  readonly state: 'running' | 'stopped'
  readonly isFrozen: boolean
  readonly createdAt: Date
}

/**
 * `poweroff`: shut down by the guest or a stop call. `reboot`: the guest rebooted, and the engine is about
 * to start it again. `died`: its init was killed or ran out of memory.
 */
export type LastExit = {
  readonly kind: 'poweroff' | 'reboot' | 'died' | 'unknown'
  readonly reason: string
}

export class DriverError extends Error {
  override name = 'DriverError'
  readonly retryable: boolean
  /** The engine is unreachable or not ready for any machine, so the error is not about this one. */
  readonly ofEngine: boolean

  constructor(
    message: string,
    options: ErrorOptions & { readonly retryable: boolean; readonly ofEngine?: boolean },
  ) {
    super(message, options)
    this.retryable = options.retryable
    this.ofEngine = options.ofEngine ?? false
  }
}

/** The engine has no capture to make the machine from. */
export class CaptureMissing extends DriverError {
  override name = 'CaptureMissing'

  constructor(id: CaptureId, options: ErrorOptions = {}) {
    super(`there is no capture ${id}`, { ...options, retryable: false })
  }
}

/** The pool has too little free space for the call. */
export class PoolFull extends DriverError {
  override name = 'PoolFull'

  constructor(options: ErrorOptions = {}) {
    super('the disk of the server is full', { ...options, retryable: true })
  }
}

/** The machine's own disk is too full for the call. */
export class MachineFull extends DriverError {
  override name = 'MachineFull'

  constructor(options: ErrorOptions = {}) {
    super('the disk of the machine is full', { ...options, retryable: true })
  }
}

/** The machine's image is missing from the engine, or not completely imported yet. */
export class ImageMissing extends DriverError {
  override name = 'ImageMissing'

  constructor(id: ImageId, options: ErrorOptions = {}) {
    super(`there is no image ${id}`, { ...options, retryable: false })
  }
}

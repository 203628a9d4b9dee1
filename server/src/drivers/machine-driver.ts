import type { CaptureId, ImageId, MachineId } from '@computer/contract'
import type { Duplex } from 'node:stream'

/**
 * The engine that runs machines. Implemented by incus/ and by server/test/fake-engine, both held to
 * server/test/conformance/machine-driver.ts.
 *
 * Every call names the machine by our own id and generation and may be repeated: asking for a state
 * that already holds is a success. A call that cannot work now, but may later, throws DriverError
 * with `retryable: true`.
 */
export interface MachineDriver extends AsyncDisposable {
  /** Resolves when the engine answers and its pool, network and profile are as we want them. */
  prepare(): Promise<void>
  /** Cheap: the engine answers and can run machines. */
  ping(): Promise<void>

  /** Whether machines can be created from the image without unpacking anything first. */
  hasImage(id: ImageId): Promise<boolean>
  /** Adds an image and unpacks it once, so that no create has to. */
  addImage(id: ImageId, files: ImageFiles): Promise<void>

  /**
   * Makes the machine's disk from its image or from a capture. The machine is stopped afterwards. A
   * disk that came from another machine's has this machine's own machine id when it boots.
   */
  create(spec: MachineSpec): Promise<void>
  /** Changes size limits of a stopped machine. A disk never shrinks. */
  resize(spec: MachineSpec): Promise<void>
  start(ref: MachineRef): Promise<void>
  /** Resolves when the guest is down. Asks it to shut down and pulls the plug after `graceMs`. */
  stop(ref: MachineRef, options: { readonly graceMs: number }): Promise<void>
  /** Removes machine and disk, whatever state it is in. */
  destroy(ref: MachineRef): Promise<void>

  /**
   * Copies a machine's disk as it is at one instant, running or stopped, without stopping it: frozen
   * while the copy is made, thawed whatever comes of it. The copy shares what neither changes, and
   * depends on nothing else. What an earlier call that broke off left is replaced.
   */
  capture(ref: MachineRef, id: CaptureId): Promise<CaptureSize>
  /** Removes a capture. Disks that were made from it stay. */
  removeCapture(id: CaptureId): Promise<void>
  /** Every capture in our engine project, also those no row knows and those half made. */
  listCaptures(): Promise<readonly EngineCapture[]>
  /** Wakes a machine that a capture which broke off left frozen. */
  thaw(ref: MachineRef): Promise<void>
  /**
   * Keeps the limits of disks true where captures keep what their machine has deleted. To be called
   * every few seconds.
   */
  adjustDiskLimits(): Promise<void>
  /** Room in the pool that holds every disk. */
  measurePool(): Promise<{ readonly totalBytes: number; readonly freeBytes: number }>

  /** What the engine sees right now, whatever the database believes. A frozen machine is running. */
  inspect(ref: MachineRef): Promise<EngineState>
  /**
   * How the last run of a machine that is `stopped` came to its end. Of use where nobody stopped it:
   * a stop that pulled the plug may look like `died`.
   */
  lastExit(ref: MachineRef): Promise<LastExit>
  /** Every machine in our engine project, also those no row knows. */
  list(): Promise<readonly EngineMachine[]>
  /**
   * Machines whose state changed in the engine; `all` where some may have been missed. A hint: gaps
   * are possible, `list` is the truth.
   */
  watch(signal: AbortSignal): AsyncIterable<MachineRef | 'all'>
  /** Removes what failed starts leave behind (network links, half-made instances). */
  sweep(): Promise<void>

  /** A byte stream to the agent's socket inside a running machine. The caller destroys it. */
  connect(ref: MachineRef): Promise<Duplex>
}

/** A machine and the incarnation of its disk: a restore makes the next generation. */
export type MachineRef = { readonly id: MachineId; readonly generation: number }

export type EngineCapture = { readonly id: CaptureId; readonly createdAt: Date }
/** What the machine itself had written to the captured disk, and still has on it. */
export type CaptureSize = { readonly writtenBytes: number }

export type MachineSpec = MachineRef & {
  readonly imageId: ImageId
  /** What the disk is made from; null: the image. */
  readonly captureId: CaptureId | null
  readonly cpu: number
  readonly memoryMb: number
  readonly diskGb: number
  /** First host uid of the 65,536 that are this machine's alone. */
  readonly uidBase: number
}

export type ImageFiles = { readonly metadataPath: string; readonly rootfsPath: string }

export type EngineState = 'running' | 'stopped' | 'absent'
export type EngineMachine = {
  readonly ref: MachineRef
  readonly state: 'running' | 'stopped'
  readonly isFrozen: boolean
  readonly createdAt: Date
}

/** `poweroff`: the guest or a stop call shut it down. `died`: its init was killed or ran out of memory. */
export type LastExit = { readonly kind: 'poweroff' | 'died' | 'unknown'; readonly reason: string }

export class DriverError extends Error {
  override name = 'DriverError'
  readonly retryable: boolean
  /** The engine is away, or not ready for any machine: it says nothing about this one. */
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

/** The capture that a machine is to be made from is not in the engine. */
export class CaptureMissing extends DriverError {
  override name = 'CaptureMissing'

  constructor(id: CaptureId, options: ErrorOptions = {}) {
    super(`there is no capture ${id}`, { ...options, retryable: false })
  }
}

/** The pool has no room for what was asked. */
export class PoolFull extends DriverError {
  override name = 'PoolFull'

  constructor(options: ErrorOptions = {}) {
    super('the disk of the server is full', { ...options, retryable: true })
  }
}

/** The machine's own disk is too full for what was asked. */
export class MachineFull extends DriverError {
  override name = 'MachineFull'

  constructor(options: ErrorOptions = {}) {
    super('the disk of the machine is full', { ...options, retryable: true })
  }
}

/** The machine's image is not in the engine, or not whole yet. */
export class ImageMissing extends DriverError {
  override name = 'ImageMissing'

  constructor(id: ImageId, options: ErrorOptions = {}) {
    super(`there is no image ${id}`, { ...options, retryable: false })
  }
}

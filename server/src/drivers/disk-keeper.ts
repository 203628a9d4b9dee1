import type { CaptureId } from '@computer/contract'
import type { Readable } from 'node:stream'
import type { MachineRef, Transfer } from './machine-driver.ts'

/**
 * Keeps disks as they are at one instant, beside the engine's own, for the backups in one folder. MachineDriver.openKeeper
 * opens it, if the engine is on this host. A kept disk is a read-only copy that shares unchanged data; it gets the id of a
 * capture, because a stream of it makes that capture in another engine (MachineDriver.receiveCapture).
 */
export interface DiskKeeper extends AsyncDisposable {
  /** Every disk of a machine or a capture that the engine has. */
  listDisks(): Promise<readonly Disk[]>
  /**
   * Keeps a disk. A running machine is frozen for that moment, and a frozen one stays frozen. Returns false if the
   * engine has no such disk.
   */
  keep(disk: Disk, id: CaptureId): Promise<boolean>
  /** All that is kept for this folder, by earlier processes too. */
  listKept(): Promise<readonly KeptDisk[]>
  /** Streams what differs from the base: another kept copy of the same disk, or the image. */
  send(kept: KeptDisk, transfer: Transfer): Promise<Readable>
  drop(kept: KeptDisk): Promise<void>
}

export type Disk =
  | { readonly kind: 'machine'; readonly ref: MachineRef }
  | { readonly kind: 'capture'; readonly id: CaptureId }

export type KeptDisk = { readonly disk: Disk; readonly id: CaptureId }

/** The same for equal disks. */
export function keyOf(disk: Disk): string {
  return disk.kind === 'capture' ? disk.id : `${disk.ref.id} ${disk.ref.generation}`
}

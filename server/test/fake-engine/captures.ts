import type { CaptureId } from '@computer/contract'
import {
  CaptureMissing,
  type CaptureSize,
  type EngineCapture,
} from '../../src/drivers/machine-driver.ts'
import type { FakeDisk } from './guest/disk.ts'

/** A disk that nobody writes to any more. Null: as the image has it. */
export type CapturedDisk = FakeDisk | null

/** The captures of one engine, also those half made, which nothing can be made from. */
export class FakeCaptures {
  readonly #now: () => Date
  readonly #captures = new Map<CaptureId, FakeCapture>()

  constructor(now: () => Date) {
    this.#now = now
  }

  list(): EngineCapture[] {
    return Array.from(this.#captures, ([id, { createdAt }]) => ({ id, createdAt }))
  }

  /** Undefined where there is none, or only half of one. */
  sizeOf(id: CaptureId): CaptureSize | undefined {
    return this.#captures.get(id)?.size ?? undefined
  }

  /** Of a disk that was never looked at, its base. */
  take(id: CaptureId, disk: FakeDisk | null, base: CapturedDisk): CaptureSize {
    const size = { writtenBytes: disk?.writtenBytes() ?? 0 }
    this.#captures.set(id, { createdAt: this.#now(), disk: disk?.copy() ?? base, size })
    return size
  }

  leaveHalf(id: CaptureId): void {
    this.#captures.set(id, { createdAt: this.#now(), disk: null, size: null })
  }

  get(id: CaptureId): CapturedDisk {
    const capture = this.#captures.get(id)
    if (!capture?.size) throw new CaptureMissing(id)
    return capture.disk
  }

  remove(id: CaptureId): void {
    this.#captures.delete(id)
  }
}

type FakeCapture = {
  readonly createdAt: Date
  readonly disk: CapturedDisk
  /** Null while it is half made. */
  readonly size: CaptureSize | null
}

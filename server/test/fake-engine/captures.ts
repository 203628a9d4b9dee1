import type { CaptureId } from '@computer/contract'
import {
  CaptureMissing,
  type CaptureSize,
  type EngineCapture,
} from '../../src/drivers/machine-driver.ts'
import { FakeDisk } from './disk.ts'

/** A disk that is no longer written to. Null: as the image has it. */
export type CapturedDisk = FakeDisk | null

/** The captures of one engine, including incomplete ones, from which no machine can be made. */
export class FakeCaptures {
  readonly #now: () => Date
  readonly #captures = new Map<CaptureId, FakeCapture>()

  constructor(now: () => Date) {
    this.#now = now
  }

  list(): EngineCapture[] {
    return Array.from(this.#captures, ([id, { createdAt }]) => ({ id, createdAt }))
  }

  /** Undefined for a capture that is absent or incomplete. */
  sizeOf(id: CaptureId): CaptureSize | undefined {
    return this.#captures.get(id)?.size ?? undefined
  }

  /** A machine without a disk of its own is captured as its base. */
  take(id: CaptureId, disk: FakeDisk | null, base: CapturedDisk): CaptureSize {
    const size = { writtenBytes: disk?.writtenBytes() ?? 0 }
    this.#captures.set(id, { createdAt: this.#now(), disk: disk ? new FakeDisk(disk) : base, size })
    return size
  }

  /** Made from the stream of another engine. */
  add(id: CaptureId, disk: CapturedDisk): void {
    this.#captures.set(id, { createdAt: this.#now(), disk, size: { writtenBytes: 0 } })
  }

  leaveIncomplete(id: CaptureId): void {
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
  /** Null: incomplete. */
  readonly size: CaptureSize | null
}

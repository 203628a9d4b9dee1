import type { CaptureId, ImageId } from '@computer/contract'
import type { Duplex, Readable } from 'node:stream'
import type { DiskKeeper } from '../drivers/disk-keeper.ts'
import {
  DriverError,
  type ImageFile,
  type MachineRef,
  type Transfer,
} from '../drivers/machine-driver.ts'
import { createRemotePeer } from './client.ts'
import type { Peer, PeerAddress } from './peer.ts'

/** A host as processes of other hosts know it. */
export type KnownHost = {
  /** Null for a host that only its own processes reach. */
  readonly peer: PeerAddress | null
  /** Whether its worker has given a sign of life lately. Its machines are reached without its engine. */
  readonly answers: boolean
}

export type HostsOptions = {
  /** The host of this process, and the driver of its engine. */
  readonly own: string
  readonly driver: Peer
  /** Reads a host, or remembers it for about a second. */
  readonly findHost: (host: string) => Promise<KnownHost | null>
  /** The token for the worker of a host. */
  readonly proofFor: (host: string) => Promise<string>
}

type HostedRef = MachineRef & { readonly host: string }

/** Streams to a host that died end this long after it counts as unhealthy, and not when TCP gives up. */
const checkEveryMs = 1_000

/** The hosts of machines, as this process reaches them: its own through the engine, others through their workers. */
export class Hosts implements Disposable {
  readonly #options: HostsOptions
  /** Open streams to other hosts. */
  readonly #streams = new Map<string, Set<Duplex>>()
  #checking: NodeJS.Timeout | undefined

  constructor(options: HostsOptions) {
    this.#options = options
  }

  /** A byte stream to the agent of a running machine. The caller destroys it. */
  async connect({ host, id, generation }: HostedRef): Promise<Duplex> {
    const peer = await this.#peer(host)
    const stream = await peer.connect({ id, generation })
    if (host !== this.#options.own) this.#watch(host, stream)
    return stream
  }

  async measureDisk({ host, id, generation }: HostedRef): Promise<number> {
    const peer = await this.#peer(host)
    return peer.measureDisk({ id, generation })
  }

  /** Streams a capture of another host for the engine of this one. */
  async sendCapture(host: string, id: CaptureId, transfer: Transfer): Promise<Readable> {
    const peer = await this.#peer(host)
    return peer.sendCapture(id, transfer)
  }

  async readImage(host: string, id: ImageId, file: ImageFile): Promise<Readable> {
    const peer = await this.#peer(host)
    return peer.readImage(id, file)
  }

  /** Opens what the backups in one folder keep of a host's disks. */
  async openKeeper(host: string, folder: string): Promise<DiskKeeper> {
    const peer = await this.#peer(host)
    return peer.openKeeper(folder)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#checking)
  }

  async #peer(host: string): Promise<Peer> {
    const { own, driver, findHost, proofFor } = this.#options
    if (host === own) return driver
    const known = await findHost(host)
    if (!known?.answers) throw unreachable('the host of the machine does not answer')
    if (!known.peer) throw unreachable(`the host ${host} is not reachable from ${own}`)
    return createRemotePeer({ ...known.peer, token: await proofFor(host) })
  }

  #watch(host: string, stream: Duplex): void {
    const streams = this.#streams.get(host) ?? new Set()
    this.#streams.set(host, streams.add(stream))
    stream.once('close', () => {
      streams.delete(stream)
      if (streams.size === 0 && this.#streams.get(host) === streams) this.#streams.delete(host)
    })
    this.#checking ??= setInterval(() => void this.#endUnreachable(), checkEveryMs).unref()
  }

  async #endUnreachable(): Promise<void> {
    if (this.#streams.size === 0) {
      clearInterval(this.#checking)
      this.#checking = undefined
    }
    for (const [host, streams] of this.#streams) {
      const known = await this.#options.findHost(host).catch(() => undefined)
      if (known === undefined || known?.answers) continue
      for (const stream of streams) stream.destroy(unreachable('the host does not answer'))
    }
  }
}

function unreachable(message: string): DriverError {
  return new DriverError(message, { retryable: true, ofEngine: true })
}

import type { CaptureId, ImageId } from '@computer/contract'
import type { Duplex, Readable } from 'node:stream'
import type { DiskKeeper } from '../drivers/disk-keeper.ts'
import type { ImageFile, MachineRef, Transfer } from '../drivers/machine-driver.ts'

/** The calls that a host answers to processes of all hosts. The driver of its engine answers them as well. */
export type Peer = {
  /** A byte stream to the agent of a running machine. The caller destroys it. */
  connect(ref: MachineRef): Promise<Duplex>
  /** The bytes that the machine holds on its disk beyond its image. */
  measureDisk(ref: MachineRef): Promise<number>
  /** Streams a file of an image. */
  readImage(id: ImageId, file: ImageFile): Promise<Readable>
  /** Streams a capture for the engine of another host. */
  sendCapture(id: CaptureId, transfer: Transfer): Promise<Readable>
  /** Opens what the backups in one folder keep of the host's disks. */
  openKeeper(folder: string): Promise<DiskKeeper>
}

/** Where the worker of a host listens for processes of other hosts. */
export type PeerAddress = {
  readonly address: string
  readonly port: number
  /** PEM text. The listener has no other certificate. */
  readonly certificate: string
}

/** The data that a new host needs to belong to the server. */
export type JoinAnswer = {
  /** The name that it was invited under. */
  readonly host: string
  readonly databaseUrl: string
  /** The content of the keyring's file. */
  readonly keyring: string
}

/** The body of a response that refuses: the fields of a DriverError. */
export type PeerFailure = {
  readonly message: string
  readonly retryable: boolean
  readonly ofEngine: boolean
}

/** The protocol that a connection to an agent is upgraded to. */
export const agentProtocol = 'computer-agent'

import { z } from 'zod'
import { ask, download, exchange, unreachable, type Reached } from './exchange.ts'
import { createRemoteKeeper } from './kept-disks.ts'
import { agentProtocol, type Peer } from './peer.ts'

const Disk = z.object({ bytes: z.number() })

/** The worker of another host. All that this throws is a DriverError. */
export function createRemotePeer(worker: Reached): Peer {
  return {
    async connect({ id, generation }) {
      const headers = { connection: 'Upgrade', upgrade: agentProtocol }
      const { socket } = await exchange(worker, { path: `/agents/${id}/${generation}`, headers })
      if (!socket) throw unreachable(new Error('it did not switch to the protocol of agents'))
      return socket
    },
    sendCapture: (id, { imageId, base }) =>
      download(worker, `/captures/${id}/${imageId}/${base ?? ''}`),
    openKeeper: async (folder) => createRemoteKeeper(worker, folder),
    readImage: (id, file) => download(worker, `/images/${id}/${file}`),
    async measureDisk({ id, generation }) {
      return (await ask(worker, Disk, { path: `/disks/${id}/${generation}` })).bytes
    },
  }
}

import { guestSocketPath } from '@computer/contract'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPayloadGroup } from '../payload-group.ts'
import { EngineError } from '../replies.ts'
import { findInit, isAlive, MountUnknown, NotDirect, withGuestSocket } from './guest-socket.ts'

/** The agent of a machine that boots gets this long to listen. */
const patienceMs = 10_000
const pollMs = 5
/** So often in a row the mounts of a machine that boots may change during a walk. */
const mostUnknown = 10
/** A walk to a socket is a dozen calls to the kernel. */
const walkMs = 1_000
/** Node has four threads for calls that may block. */
const mostStuck = 2

/**
 * Opens streams to agents of machines on this host past the engine, which saves each byte two processes and
 * the changes between them. The result is undefined where that does not work, whatever the reason; then the
 * engine's way is taken.
 */
export function createDirectStreams(): (storageName: string) => Promise<Duplex | undefined> {
  /** Walks that a guest has stopped, which no guest should be able to. */
  let stuck = 0

  return async (storageName) => {
    const group = stuck < mostStuck ? await findPayloadGroup(storageName) : undefined
    const init = group && (await findInit(group))
    if (!init) return undefined
    const deadline = performance.now() + patienceMs
    let walk: Promise<Socket> | undefined
    let unknown = 0
    try {
      while (performance.now() < deadline) {
        try {
          walk = withGuestSocket(init, guestSocketPath, connectTo)
          return await limitWalk(walk)
        } catch (error) {
          unknown = error instanceof MountUnknown ? unknown + 1 : 0
          const mayChange = isBooting(error) || (unknown > 0 && unknown < mostUnknown)
          if (!mayChange || !(await isAlive(init))) return undefined
        }
        await sleep(pollMs)
      }
    } finally {
      // A walk that is stuck still has paths that begin with its handle.
      void Promise.allSettled([walk]).then(() => init[Symbol.asyncDispose]())
    }
    throw new EngineError(`no agent listens in ${storageName}`, { status: 503 })
  }

  async function limitWalk(walk: Promise<Socket>): Promise<Socket> {
    const timer = new AbortController()
    const late = sleep(walkMs, undefined, { signal: timer.signal }).catch(() => undefined)
    const socket = await Promise.race([walk, late])
    timer.abort()
    if (socket) return socket
    stuck += 1
    const end = () => {
      stuck -= 1
    }
    walk
      .then(
        (opened) => opened.destroy(),
        () => {},
      )
      .finally(end)
    throw new NotDirect('the walk to the socket takes too long')
  }
}

async function connectTo(path: string): Promise<Socket> {
  const socket = connect({ path })
  // The caller has no listener yet, and an agent may break off at once.
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The folder or the socket is not there yet, or nobody accepts its connections. */
function isBooting(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'EAGAIN'
}

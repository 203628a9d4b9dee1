import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { bridge } from './bridge.ts'

export type HostileAgent = Awaited<ReturnType<typeof startHostileAgent>>

/** A hostile agent in a process of its own. `connect` opens a stream to it, as the engine does. */
export async function startHostileAgent(seed: number) {
  const name = `computer-hostile-agent-${randomUUID()}`
  const entry = fileURLToPath(new URL('agent-main.ts', import.meta.url))
  const child = fork(entry, [name, String(seed)])
  await once(child, 'message')
  return {
    async connect(): Promise<Duplex> {
      const socket = connect(`\0${name}`)
      socket.on('error', () => {})
      await once(socket, 'connect')
      return bridge(socket)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

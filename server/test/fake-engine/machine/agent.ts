import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, type Stats } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { inRoot, spawnInRoot } from './namespace.ts'

const pollMs = 10

/** The real agent, as the first process of a fake machine. */
export type MachineAgent = {
  connect(): Socket
  /** Kills all processes of the machine, and resolves when they are gone. */
  kill(): Promise<void>
}

export async function startAgent(rootPath: string): Promise<MachineAgent> {
  const entry = `${inRoot.repositoryPath}/server/test/fake-engine/machine/agent-main.ts`
  const environment = `NODE_COMPILE_CACHE=${inRoot.compileCachePath}`
  const command = ['/usr/bin/env', environment, inRoot.nodePath, entry]
  const child = spawnInRoot(rootPath, command, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(child, 'exit')
  child.unref()
  const isSameRoot = isSameFileAs(statSync(rootPath))
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the agent ended with ${child.exitCode ?? child.signalCode}`)
    }
    const init = childOf(child.pid!)
    const machineRoot = init === undefined ? undefined : `/proc/${init}/root`
    // Until the process has changed its root, that is the host's, where another agent may listen.
    if (machineRoot && isSameRoot(machineRoot)) {
      const socketPath = `${machineRoot}/run/computer/agent.sock`
      if (await accepts(socketPath)) {
        return {
          connect: () => connect(socketPath),
          async kill() {
            child.ref()
            child.kill('SIGKILL')
            await ended
            // Its init dies with it, after all others, which may still write to the disk.
            while (isAlive(init!)) await pause(1)
          },
        }
      }
    }
    await pause(pollMs)
  }
}

/** The one child of a process, or none. */
function childOf(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()) || undefined
  } catch {
    return undefined
  }
}

/** Once its last thread has ended, all of its name space has; the first may have ended before. */
function isAlive(pid: number): boolean {
  try {
    const isZombie = /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return !isZombie || readdirSync(`/proc/${pid}/task`).length > 1
  } catch {
    return false
  }
}

function isSameFileAs({ dev, ino }: Stats): (path: string) => boolean {
  return (path) => {
    const other = statSync(path, { throwIfNoEntry: false })
    return other?.dev === dev && other.ino === ino
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

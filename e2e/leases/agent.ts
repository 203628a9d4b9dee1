import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startDisplay } from '../../guest-agent/test/x-display.ts'
import { displaySize } from './history.ts'

const entry = fileURLToPath(new URL('../../guest-agent/src/main.ts', import.meta.url))

type RealAgent = AsyncDisposable & {
  readonly socketPath: string
  readonly xSocketPath: string
}

/** Starts the agent and X server of a machine, without the machine. */
export async function startAgent(): Promise<RealAgent> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'computer-agent-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await makeUser(folder)
  const display = stack.use(await startDisplay(`${displaySize.width}x${displaySize.height}`))
  const { xSocketPath, rfbSocketPath } = display
  const socketPath = join(folder, 'agent.sock')
  // The kernel kills the agent with this process, even if that is killed.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', process.execPath, entry], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      COMPUTER_AGENT_SOCKET: socketPath,
      COMPUTER_AGENT_X_SOCKET: xSocketPath,
      COMPUTER_AGENT_RFB_SOCKET: rfbSocketPath,
      COMPUTER_AGENT_SECRETS: folder,
      COMPUTER_AGENT_ROOT: folder,
    },
  })
  const ended = once(child, 'exit')
  stack.defer(async () => {
    child.kill('SIGKILL')
    await ended
  })
  while (!(await accepts(socketPath))) {
    if (child.exitCode !== null) throw new Error(`the agent ended with ${child.exitCode}`)
    await delay(20)
  }
  const owned = stack.move()
  return { socketPath, xSocketPath, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The user of the machine, whose files a brief looks through. */
async function makeUser(root: string): Promise<void> {
  await mkdir(join(root, 'home/agent'), { recursive: true })
  await mkdir(join(root, 'etc'))
  await writeFile(join(root, 'etc/passwd'), 'agent:x:1000:1000::/home/agent:/bin/sh\n')
  await writeFile(join(root, 'etc/group'), 'agent:x:1000:\n')
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

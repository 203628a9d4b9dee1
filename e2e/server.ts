import { Computer } from '@computer/sdk'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IncusClient } from '../server/src/drivers/incus/client.ts'
import { refOf } from '../server/src/drivers/incus/instance.ts'
import { listInstances } from '../server/src/drivers/incus/instances.ts'
import { engineSocketPath } from '../server/src/host/engine.ts'
import { networkName } from '../server/src/process.ts'
import { createApiClient, type ApiClient } from './api.ts'
import { removeEngine } from './engine.ts'
import { freePort } from './ports.ts'

const entry = fileURLToPath(new URL('../cli/src/main.ts', import.meta.url))
const readyWithinMs = 300_000

export type RealServer = AsyncDisposable & {
  /** The owner's, as any program would have it. */
  readonly computer: Computer
  /** The same API on the wire, for what the SDK does not show. */
  readonly api: ApiClient
  readonly dataDir: string
  /** Kills a role as a crash would; the supervisor starts it again. */
  kill(role: 'api' | 'worker' | 'gateway'): Promise<void>
  /** How many machines the engine has; captures are none. */
  countMachines(): Promise<number>
}

/**
 * `computer up` on a data folder and ports of its own, with only the image cache shared. Its
 * disposal leaves nothing behind: no machine, process, mount, bridge or file.
 */
export async function startRealServer(
  options: { readonly previewDomain?: string; readonly trustProxy?: string } = {},
): Promise<RealServer> {
  const dataDir = await mkdtemp('/var/tmp/computer-e2e-')
  const [apiPort, gatewayPort] = [await freePort(), await freePort()]
  const previewPort = String(await freePort())
  const previews = options.previewDomain
    ? ['--preview-domain', options.previewDomain, '--preview-port', previewPort]
    : []
  const child = spawn(process.execPath, [entry, 'up', ...previews], {
    env: {
      ...process.env,
      COMPUTER_DATA: dataDir,
      COMPUTER_API_PORT: String(apiPort),
      COMPUTER_GATEWAY_PORT: String(gatewayPort),
      COMPUTER_POOL_SIZE_GB: '30',
      COMPUTER_PREVIEW_PUBLIC_PORT: previewPort,
      ...(options.trustProxy && { COMPUTER_TRUST_PROXY: options.trustProxy }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collectOutput(child)
  const baseUrl = `http://127.0.0.1:${apiPort}`
  try {
    await waitUntilReady(child, baseUrl, output)
  } catch (error) {
    await stop(child)
    await removeEngine(dataDir, networkName(dataDir))
    throw error
  }
  const key = (await readFile(join(dataDir, 'owner.key'), 'utf8')).trim()
  return {
    // Not disposed of: its sessions go with the server.
    computer: new Computer({ apiKey: key, baseUrl }),
    api: createApiClient(baseUrl, key),
    dataDir,
    async kill(role) {
      const record = await readFile(join(dataDir, 'run', `${role}.pid`), 'utf8')
      process.kill((JSON.parse(record) as { pid: number }).pid, 'SIGKILL')
    },
    countMachines: () => countMachines(dataDir),
    async [Symbol.asyncDispose]() {
      await stop(child)
      await removeEngine(dataDir, networkName(dataDir))
    },
  }
}

async function waitUntilReady(
  child: ChildProcess,
  baseUrl: string,
  output: () => string,
): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  for (;;) {
    const isReady = await fetch(`${baseUrl}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (isReady) return
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`the server did not come up:\n${output()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function countMachines(dataDir: string): Promise<number> {
  using client = new IncusClient({ socketPath: engineSocketPath(dataDir) })
  const instances = await listInstances({ client, project: 'computer' })
  return instances.filter(({ name }) => refOf(name)).length
}

function collectOutput(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-20_000)
    })
  }
  return () => text
}

import { Computer } from '@computer/sdk'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { refOf } from '../../server/src/drivers/incus/instance.ts'
import { listInstances } from '../../server/src/drivers/incus/instances.ts'
import { engineSocketPath } from '../../server/src/host/engine.ts'
import { networkName } from '../../server/src/process.ts'
import { createApiClient, type ApiClient } from './api.ts'
import { removeEngine } from './engine-daemon.ts'
import { keepServerLogs } from './logs.ts'
import { freePort } from './ports.ts'
import { prepareServer } from './server-folder.ts'
import { readServerPid } from './processes.ts'

const entry = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
const readyWithinMs = 300_000

/** All that another process needs to use a server of the tests. */
export type ServerLocation = { readonly baseUrl: string; readonly dataDir: string }

/** A server, used by an organization's owner and by the operator of its host. */
export type RealServer = AsyncDisposable & {
  /** The SDK with an API key of the organization's owner. */
  readonly computer: Computer
  /** The same API on the wire, for details that the SDK hides. */
  readonly api: ApiClient
  readonly dataDir: string
  /** The environment in which the commands of the guides find the server and the API key. */
  readonly guideEnv: Readonly<Record<string, string>>
  /** Kills a service as a crash would; the supervisor restarts it. */
  kill(service: 'api' | 'worker' | 'gateway'): Promise<void>
  /** Counts the engine's machines, without captures. */
  countMachines(): Promise<number>
}

export type ServerOptions = {
  readonly previewDomain?: string
  readonly trustProxy?: string
  /** Networks that webhooks may reach. */
  readonly webhookNetworks?: string
  /** The pool of machines that are booted in advance; otherwise that of every server. */
  readonly warmMachines?: number
}

/**
 * Starts `computer up` with a data folder and ports of its own; only the image cache is shared. The
 * disposal removes everything: machines, processes, mounts, bridges and files.
 */
export async function startRealServer(options: ServerOptions = {}): Promise<RealServer> {
  const { dataDir, apiPort, env } = await prepareServer('server')
  const previewPort = String(await freePort())
  const previews = options.previewDomain
    ? ['--preview-domain', options.previewDomain, '--preview-port', previewPort]
    : []
  const child = spawn(process.execPath, [entry, 'up', ...previews], {
    env: {
      ...env,
      COMPUTER_PREVIEW_PUBLIC_PORT: previewPort,
      ...(options.warmMachines !== undefined && {
        COMPUTER_WARM_MACHINES: String(options.warmMachines),
      }),
      ...(options.trustProxy && { COMPUTER_TRUST_PROXY: options.trustProxy }),
      ...(options.webhookNetworks && { COMPUTER_WEBHOOK_NETWORKS: options.webhookNetworks }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collectOutput(child)
  const baseUrl = `http://127.0.0.1:${apiPort}`
  const end = async () => {
    await stop(child)
    await keepServerLogs(dataDir)
    await removeEngine(dataDir, networkName(dataDir))
  }
  try {
    await waitUntilReady(child, baseUrl, output)
  } catch (error) {
    await end()
    throw error
  }
  const key = (await readFile(join(dataDir, 'owner.key'), 'utf8')).trim()
  return describeServer({ baseUrl, dataDir }, { key, keyFolder: dataDir }, end)
}

/** `keyFolder` holds the key as `owner.key`, as the data folder holds the key of the first owner. */
export function describeServer(
  { baseUrl, dataDir }: ServerLocation,
  { key, keyFolder }: { readonly key: string; readonly keyFolder: string },
  end: (server: { readonly computer: Computer; readonly api: ApiClient }) => Promise<void>,
): RealServer {
  // The SDK's client is not disposed of: its sessions end with the server or the organization.
  const computer = new Computer({ apiKey: key, baseUrl })
  const api = createApiClient(baseUrl, key)
  return {
    computer,
    api,
    dataDir,
    guideEnv: {
      COMPUTER_BASE_URL: baseUrl,
      COMPUTER_DATA: keyFolder,
      COMPUTER_SECRETS_KEYRING: join(dataDir, 'secrets.keyring'),
    },
    async kill(service) {
      process.kill(readServerPid(dataDir, service), 'SIGKILL')
    },
    countMachines: () => countMachines(dataDir),
    [Symbol.asyncDispose]: () => end({ computer, api }),
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
      throw new Error(`the server did not start:\n${output()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
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

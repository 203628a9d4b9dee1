import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiClient } from '../e2e/harness/api.ts'
import { shareImageCache } from '../e2e/harness/image-cache.ts'
import { startRealServer, type RealServer } from '../e2e/harness/server.ts'

/** The measured server. The baselines use the engine of its data folder, on this host. */
type BenchServer = AsyncDisposable & Pick<RealServer, 'api' | 'dataDir'>

const options = {
  previewDomain: 'preview.test',
  trustProxy: '127.0.0.1',
  webhookNetworks: '127.0.0.1',
}

/** Another server, whose creates find a machine that was booted in advance. */
export function openServerWithPool(): Promise<RealServer> {
  return startRealServer({ ...options, warmMachines: 1 })
}

/**
 * Connects to the server at COMPUTER_BASE_URL, with COMPUTER_API_KEY or the owner's key of its data
 * folder (COMPUTER_DATA). Without that URL, starts a server without a pool, which its disposal removes
 * completely.
 */
export async function openServer(env = process.env): Promise<BenchServer> {
  const baseUrl = env['COMPUTER_BASE_URL']
  if (baseUrl === undefined) {
    shareImageCache(env)
    return startRealServer({ ...options, warmMachines: 0 })
  }
  const dataDir = env['COMPUTER_DATA'] ?? '/var/lib/computer'
  await requireEngine(dataDir)
  const api = createApiClient(baseUrl, env['COMPUTER_API_KEY'] ?? (await readOwnerKey(dataDir)))
  await api.ok('GET', '/v1/machines')
  return { api, dataDir, [Symbol.asyncDispose]: async () => {} }
}

async function readOwnerKey(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'owner.key'), 'utf8')).trim()
}

async function requireEngine(dataDir: string): Promise<void> {
  try {
    await access(join(dataDir, 'engine', 'unix.socket'))
  } catch (cause) {
    throw new Error(
      `no engine runs in ${dataDir}: the baselines need the engine of the measured server; ` +
        'set COMPUTER_DATA to the data folder of that server',
      { cause },
    )
  }
}

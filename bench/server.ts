import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { shareImageCache } from '../e2e/harness/image-cache.ts'
import { startRealServer } from '../e2e/harness/server.ts'
import { openApi, type Api } from './api.ts'

/** The server that is measured. The baselines use the engine of its data folder, on this host. */
export type BenchServer = AsyncDisposable & {
  readonly api: Api
  readonly dataDir: string
}

/**
 * With COMPUTER_BASE_URL the server there, with COMPUTER_API_KEY or the owner's key of its data
 * folder (COMPUTER_DATA). Without it a server of our own, of which nothing stays behind.
 */
export async function openServer(env = process.env): Promise<BenchServer> {
  const usualDataDir = env['COMPUTER_DATA'] ?? '/var/lib/computer'
  const baseUrl = env['COMPUTER_BASE_URL']
  if (baseUrl !== undefined) {
    await requireEngine(usualDataDir)
    const api = openApi(baseUrl, env['COMPUTER_API_KEY'] ?? (await readOwnerKey(usualDataDir)))
    await api.json('GET', '/v1/machines')
    return { api, dataDir: usualDataDir, [Symbol.asyncDispose]: async () => api.close() }
  }
  shareImageCache(env)
  const previews = { previewDomain: 'preview.test', trustProxy: '127.0.0.1' }
  const server = await startRealServer(previews)
  const api = openApi(server.api.baseUrl, await readOwnerKey(server.dataDir))
  return {
    api,
    dataDir: server.dataDir,
    async [Symbol.asyncDispose]() {
      api.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function readOwnerKey(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'owner.key'), 'utf8')).trim()
}

async function requireEngine(dataDir: string): Promise<void> {
  try {
    await access(join(dataDir, 'engine', 'unix.socket'))
  } catch (cause) {
    throw new Error(
      `no engine runs in ${dataDir}: the baselines need the one of the server that is measured; ` +
        'set COMPUTER_DATA to its data folder',
      { cause },
    )
  }
}

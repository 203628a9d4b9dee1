import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { findDatabaseDelay } from '../db/readiness.ts'
import { killNameServers } from './engine-dnsmasq.ts'
import { prepareKernel } from './engine-kernel.ts'
import { engineCommand, engineSocketPath, prepareEngineFiles, waitEngineReady } from './engine.ts'
import { withSharedLimits } from './kernel-limits.ts'
import { databaseUrl, ensureCluster, postgresCommand } from './postgres.ts'
import type { Program } from './supervised-process.ts'
import { findWorkerDelay, forgetWorkerReady } from './worker-readiness.ts'

/* The programs of a server, in the order in which they start. */

export function postgresProgram({ dataDir }: Config): Program {
  return {
    name: 'postgres',
    prepare: () => ensureCluster(dataDir),
    command: () => postgresCommand(dataDir),
    findDelay: async () => (await findDatabaseDelay(databaseUrl(dataDir))) && 'it is starting',
  }
}

export function engineProgram({ dataDir }: Config): Program {
  return {
    name: 'engine',
    ownLogs: [join(dataDir, 'engine', 'logs', 'incusd.log')],
    async prepare() {
      await prepareKernel()
      await prepareEngineFiles(dataDir)
      await killNameServers(dataDir)
    },
    command() {
      const { command, args, env } = engineCommand(dataDir)
      return { argv: withSharedLimits([command, ...args]), env }
    },
    async findDelay() {
      if (!existsSync(engineSocketPath(dataDir))) return 'the daemon is starting'
      return waitEngineReady(dataDir, { timeoutMs: 1000 }).then(
        () => null,
        () => 'the daemon is loading its machines',
      )
    },
  }
}

/**
 * glibc keeps blocks up to a threshold in the process's heap, and raises the threshold, up to 32 MiB,
 * to the size of every larger block that is freed. Archives, images and screenshots are moved in large
 * buffers: small blocks that outlive them would pin the whole heap. A fixed threshold, which a
 * socket's read buffer (64 KiB) reaches, returns each buffer to the kernel when it is freed.
 */
const returnedMemory = { MALLOC_MMAP_THRESHOLD_: '65536' }

export function serverPrograms(config: Config, url: string): readonly Program[] {
  const host = config.bind === '0.0.0.0' || config.bind === '::' ? '127.0.0.1' : config.bind
  const env = { ...processEnvironment(), COMPUTER_DATA: config.dataDir, DATABASE_URL: url }
  const commandOf = (name: string) => {
    const path = fileURLToPath(new URL(`../main-${name}.ts`, import.meta.url))
    return () => ({ argv: [process.execPath, path], env })
  }
  const log = config.logs === 'files' ? 'own' : 'passed'
  const httpProgram = (name: string, port: number): Program => ({
    name,
    log,
    command: commandOf(name),
    findDelay: () => findHttpDelay(`http://${bracket(host)}:${port}/readyz`),
  })
  return [
    {
      name: 'worker',
      log,
      prepare: () => forgetWorkerReady(config.dataDir),
      command: commandOf('worker'),
      findDelay: () => findWorkerDelay(config.dataDir),
    },
    httpProgram('api', config.apiPort),
    httpProgram('gateway', config.gatewayPort),
  ]
}

/** A service that is not ready gives the reason in its error response. */
async function findHttpDelay(url: string): Promise<string | null> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5000) })
    if (answer.ok) return null
    const { error } = (await answer.json()) as { error?: { message?: string } }
    return error?.message ?? `it responds with status ${answer.status}`
  } catch {
    return 'it does not respond yet'
  }
}

function bracket(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** The environment of a worker, an API or a gateway. What the operator has set wins. */
export function processEnvironment(): Record<string, string> {
  const pairs = Object.entries(process.env).filter(([, value]) => value !== undefined)
  return { ...returnedMemory, ...(Object.fromEntries(pairs) as Record<string, string>) }
}

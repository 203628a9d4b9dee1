import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Lifetime } from '../../server/test/harness.ts'
import { waitReady } from '../../server/src/db/readiness.ts'
import { ensureCluster, postgresCommand } from '../../server/src/host/postgres.ts'
import { freePort } from '../harness/ports.ts'

/** A Postgres that hosts reach at an address, as an operator of several hosts has one. Resolves to its URL. */
export async function startNetworkPostgres(t: Lifetime, address: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-network-pg-'))
  await ensureCluster(folder, { isDurable: false })
  const [port, hba] = [await freePort(), join(folder, 'pg_hba.conf')]
  await writeFile(hba, `local all all trust\nhost all all ${address}/24 trust\n`)
  const { argv } = postgresCommand(folder, {
    listen_addresses: address,
    port: String(port),
    hba_file: hba,
    fsync: 'off',
  })
  const server = spawn('setpriv', ['--pdeathsig', 'KILL', ...argv], { stdio: 'ignore' })
  const ended = once(server, 'close')
  t.after(async () => {
    server.kill('SIGINT')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  const url = `postgresql://computer@${address}:${port}/computer`
  await waitReady(url, AbortSignal.timeout(60_000))
  return url
}

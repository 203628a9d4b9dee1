import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig } from './config.ts'
import { findDatabaseDelay } from './db/readiness.ts'
import { HostAddress } from './environment.ts'
import { settingsPath, withSettings, writeSettings } from './host/settings.ts'
import { requestToJoin } from './peers/join.ts'
import { replaceFile } from './replace-file.ts'

/*
 * `computer join TOKEN ADDRESS`: makes this host one of a server, with what the worker of another host hands out for
 * the token. `computer up` then starts it.
 */
const [token = '', address = ''] = process.argv.slice(2)
try {
  await joinServer(token, address)
} catch (error) {
  console.error(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}

async function joinServer(token: string, address: string): Promise<void> {
  const checked = HostAddress.safeParse(address)
  if (!checked.success) throw new Error(`--address: ${checked.error.issues[0]!.message}`)
  const { dataDir, keyringPath, engine } = readConfig(withSettings(process.env))
  for (const path of [settingsPath(dataDir), keyringPath, join(dataDir, 'postgres')]) {
    if (existsSync(path)) {
      throw new Error(`this host has a server already: ${path} exists; use another data folder`)
    }
  }
  const { host, databaseUrl, keyring } = await requestToJoin(token)
  await mkdir(dataDir, { recursive: true })
  await replaceFile(keyringPath, keyring, { isDurable: true })
  await writeSettings(dataDir, {
    COMPUTER_HOST: host,
    COMPUTER_HOST_ADDRESS: address,
    DATABASE_URL: databaseUrl,
    ...(engine && 'dir' in engine
      ? { COMPUTER_ENGINE_DIR: engine.dir, COMPUTER_ENGINE_POOL: engine.pool }
      : {}),
  })
  console.log(`this host is ${host} now; its settings are in ${settingsPath(dataDir)}`)
  const reason = await findDatabaseDelay(databaseUrl)
  if (reason !== null) {
    throw new Error(
      `the database of the server does not answer this host (${reason}): mend that, then start with \`computer up\``,
    )
  }
  console.log('start it: computer up')
}

import { dirname } from 'node:path'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { findRefusal } from '../domain/hosts/states.ts'
import {
  buildGuestBundle,
  ensureKeyring,
  ensureOwnerKey,
  registerBuiltImage,
} from './first-start.ts'
import { startScriptPath, writeStartScript } from './engine-lxc.ts'
import type { Terminal } from './terminal.ts'

/** Makes what all processes of a server need: the schema, the owner and the keyring. */
export async function prepareDatabase(
  config: Config,
  url: string,
  db: Database,
  terminal: Terminal,
): Promise<void> {
  await migrate(url)
  await ensureOwnerKey(db, config)
  const keyringProblem = await ensureKeyring(db, config)
  if (keyringProblem !== null) terminal.say(keyringProblem)
}

/** Makes what the worker of this host needs: the image and the agent. Throws if the host must not have a worker. */
export async function prepareHost(config: Config, db: Database, terminal: Terminal): Promise<void> {
  const refusal = await findRefusal(db, config.host)
  if (refusal !== null) throw new Error(refusal)
  if (!(await registerBuiltImage(db, config))) {
    terminal.say(
      'the machine image is out of date, so the previous one is used: run `npm run setup` to build it',
    )
  }
  await buildGuestBundle(config)
  if (config.engine && 'dir' in config.engine) {
    await writeStartScript(dirname(startScriptPath(config.dataDir)))
  }
}

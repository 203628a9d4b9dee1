import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { ensureOwner } from '../domain/operator/bootstrap.ts'
import { hasImages, registerImage } from '../domain/disks/images.ts'
import { addKey, readKeyring } from '../domain/secrets/keyring-file.ts'
import { hasSecrets } from '../domain/secrets/secrets.ts'

const repoDir = fileURLToPath(new URL('../../../', import.meta.url))

export function ownerKeyPath(dataDir: string): string {
  return join(dataDir, 'owner.key')
}

/** Makes the first owner and keeps its API key in a file that only its owner may read. */
export async function ensureOwnerKey(db: Database, { dataDir }: Config): Promise<void> {
  // The key is told once. If we end before it is in the file, the mark makes the next start renew it.
  const mark = join(dataDir, 'run', 'owner-key-is-due')
  const renew = existsSync(mark) && !existsSync(ownerKeyPath(dataDir))
  await writeWhole(mark, '')
  const { key } = await ensureOwner(db, { renew })
  if (key !== null) await writeWhole(ownerKeyPath(dataDir), `${key}\n`)
  await rm(mark)
}

/**
 * Makes the keyring of a server that has none and no secrets yet. Otherwise says what to do: keys that
 * were lost are not to be replaced by others, and servers that share a database share theirs.
 */
export async function ensureKeyring(db: Database, config: Config): Promise<string | null> {
  const { keyringPath: path } = config
  if (await readKeyring(path)) return null
  if (await hasSecrets(db))
    return `the keyring ${path} is gone, and with it all secrets of machines: put it back`
  if (config.databaseUrl !== null) {
    return 'machines have no secrets: see docs/secrets.md for the keyring of servers that share a database'
  }
  await addKey(path)
  return null
}

const ImageFacts = z.object({ name: z.string(), description: z.string(), recipe_hash: z.string() })

/**
 * Makes the image of today's recipe the default. Says false when the set-up has not built it, and
 * throws when there is no earlier one to go on with.
 */
export async function registerBuiltImage(db: Database, config: Config): Promise<boolean> {
  const hash = (await run('bash', [join(repoDir, 'image', 'build.sh'), '--hash'])).trim()
  const folder = join(config.imageCacheDir, hash)
  const text = await readFile(join(folder, 'image.json'), 'utf8').catch(() => null)
  if (text === null) {
    if (await hasImages(db)) return false
    throw new Error(`no machine image in ${folder}: run \`npm run setup\``)
  }
  const facts = ImageFacts.parse(JSON.parse(text))
  await registerImage(db, {
    recipeHash: facts.recipe_hash,
    name: facts.name,
    description: facts.description,
    metadataPath: join(folder, 'metadata.tar'),
    rootfsPath: join(folder, 'rootfs.tar.zst'),
  })
  return true
}

/** The agent as machines of this data folder see it. Machines that run take it at their next start. */
export async function buildGuestBundle({ dataDir }: Config): Promise<void> {
  await run(process.execPath, [join(repoDir, 'guest-agent', 'build.ts'), join(dataDir, 'guest')])
}

async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0)
    throw new Error(`${args.join(' ')} failed: ${errors.trim() || `exit code ${code}`}`)
  return output
}

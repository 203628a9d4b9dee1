import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { guestDir, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { ensureOwner } from '../domain/operator/bootstrap.ts'
import { hasOtherHost } from '../domain/hosts/hosts.ts'
import { findFingerprint, hasImages, registerImage } from '../domain/disks/images.ts'
import { addKey, readKeyring } from '../domain/secrets/keyring-file.ts'
import { hasSecrets } from '../domain/secrets/secrets.ts'
import { fingerprintOf } from '../drivers/image-fingerprint.ts'
import { replaceFile } from '../replace-file.ts'

const repoDir = fileURLToPath(new URL('../../../', import.meta.url))

export function ownerKeyPath(dataDir: string): string {
  return join(dataDir, 'owner.key')
}

/** Makes the first owner and stores its API key in a file that only root can read. */
export async function ensureOwnerKey(db: Database, { dataDir }: Config): Promise<void> {
  // The key is returned only once. If we die before it is stored, the mark makes the next start renew it.
  const mark = join(dataDir, 'run', 'owner-key-is-due')
  const renew = existsSync(mark) && !existsSync(ownerKeyPath(dataDir))
  await replaceFile(mark, '', { isDurable: true })
  const { key } = await ensureOwner(db, { renew })
  if (key !== null) {
    await replaceFile(ownerKeyPath(dataDir), `${key}\n`, { isDurable: true })
  }
  await rm(mark)
}

/**
 * Makes a keyring if the server has neither keyring nor secrets. Otherwise returns a message that says
 * what to do: lost keys must not be replaced by new ones, and the hosts of a server share theirs.
 */
export async function ensureKeyring(db: Database, config: Config): Promise<string | null> {
  const { keyringPath: path } = config
  if (await readKeyring(path)) return null
  if (await hasSecrets(db))
    return `the keyring ${path} is missing, so no secret of a machine can be decrypted: restore it from a copy`
  if (await hasOtherHost(db, config))
    return `the keyring ${path} is missing: copy it from another host of this server`
  await addKey(path)
  return null
}

const ImageFacts = z.object({ name: z.string(), description: z.string(), recipe_hash: z.string() })

/**
 * Makes the image of the current recipe the default. Returns false if the set-up has not built it and an
 * earlier image exists, and throws if there is none.
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
  const files = {
    metadataPath: join(folder, 'metadata.tar'),
    rootfsPath: join(folder, 'rootfs.tar.zst'),
  }
  const built = { recipeHash: facts.recipe_hash, ...files }
  const fingerprint = (await findFingerprint(db, built)) ?? (await fingerprintOf(files))
  const { name, description } = facts
  await registerImage(db, config.host, { ...built, name, description, fingerprint })
  return true
}

/** Builds the agent that is mounted into machines. Running machines use it from their next start on. */
export async function buildGuestBundle(config: Config): Promise<void> {
  await run(process.execPath, [join(repoDir, 'guest-agent', 'build.ts'), guestDir(config)])
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

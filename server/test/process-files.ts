import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuiltImage } from '../src/domain/disks/images.ts'
import { addKey } from '../src/domain/secrets/keyring-file.ts'
import { fingerprintOf } from '../src/drivers/image-fingerprint.ts'

/* Files that all servers of a test process share, and that end with it. */

let keyring: Promise<string> | undefined
export function keyringPath(): Promise<string> {
  return (keyring ??= makeKeyring())
}

async function makeKeyring(): Promise<string> {
  const folder = await makeFolder('keyring')
  await addKey(join(folder, 'keyring'))
  return join(folder, 'keyring')
}

let image: Promise<BuiltImage> | undefined
/** An image of empty files, which the fake engine does not read. */
export function testImage(): Promise<BuiltImage> {
  return (image ??= makeImage())
}

async function makeImage(): Promise<BuiltImage> {
  const folder = await makeFolder('image')
  const files = {
    metadataPath: join(folder, 'metadata.tar'),
    rootfsPath: join(folder, 'rootfs.tar.zst'),
  }
  for (const path of Object.values(files)) await writeFile(path, '')
  const fingerprint = await fingerprintOf(files)
  return { recipeHash: 'test', name: 'Test', description: 'A test image.', ...files, fingerprint }
}

let folders: string | undefined
export async function makeFolder(name: string): Promise<string> {
  if (folders === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'computer-test-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    folders = made
  }
  return mkdtemp(join(folders, `${name}-`))
}

import type { ImageId } from '@computer/contract'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fingerprintOf } from '../image-fingerprint.ts'
import { ImageMissing, type ImageFile, type ImageFiles } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import type { EngineConfig } from './engine-config.ts'
import type { Engine } from './engine.ts'
import { aliasOf } from './instance.ts'
import { isStatus, removeInstance, waitForOperations } from './instances.ts'

const importTimeoutMs = 20 * 60_000

/** The image is in the engine, and completely unpacked in the pool. */
export async function isImageReady(engine: Engine, id: ImageId): Promise<boolean> {
  const { client } = engine
  const fingerprint = await findImage(client, id)
  if (fingerprint === undefined) return false
  const { properties } = await readImage(client, fingerprint)
  return properties[await unpackedHere(engine)] === 'true'
}

/**
 * Each step leaves a result that a repeated call finds: the image, its alias, and the property that it
 * is unpacked. So a repeated call resumes one that broke off.
 */
export async function importImage(engine: Engine, id: ImageId, files: ImageFiles): Promise<void> {
  const { client } = engine
  const fingerprint = (await findImage(client, id)) ?? (await upload(client, id, files))
  await waitForOperations(engine, seedOf(id))
  if (await isImageReady(engine, id)) return
  await unpack(engine, id, fingerprint)
  // Another member of a cluster may have noted meanwhile that it has unpacked the image.
  const { properties } = await readImage(client, fingerprint)
  await client.change('PATCH', `/1.0/images/${fingerprint}`, {
    body: { properties: { ...properties, [await unpackedHere(engine)]: 'true' } },
  })
}

/** The engine keeps the files that it was given, on its own host. */
export async function readImageFile(
  client: IncusClient,
  { engineDir }: Pick<EngineConfig, 'engineDir'>,
  id: ImageId,
  file: ImageFile,
): Promise<Readable> {
  const fingerprint = await findImage(client, id)
  if (fingerprint === undefined || engineDir === undefined) throw new ImageMissing(id)
  const name = file === 'metadata' ? fingerprint : `${fingerprint}.rootfs`
  try {
    const handle = await open(join(engineDir, 'images', name))
    return handle.createReadStream()
  } catch (cause) {
    throw new ImageMissing(id, { cause })
  }
}

/** A seed is an instance that exists only while its image is being unpacked. */
export function isSeed(name: string): boolean {
  return /^seed-[0-9a-z]{20,32}$/.test(name)
}

type Image = { readonly properties: Readonly<Record<string, string>> }

/** All members of a cluster share the image, and each unpacks it in a pool of its own. */
async function unpackedHere(engine: Engine): Promise<string> {
  const { target } = await engine.readTarget()
  const inPool = `computer.unpacked.${engine.config.pool}`
  return target === undefined ? inPool : `${inPool}.${target}`
}

function readImage(client: IncusClient, fingerprint: string): Promise<Image> {
  return client.get<Image>(`/1.0/images/${fingerprint}`)
}

/** The image's fingerprint. */
export async function findImage(client: IncusClient, id: ImageId): Promise<string | undefined> {
  try {
    const alias = await client.get<{ target: string }>(`/1.0/images/aliases/${aliasOf(id)}`)
    return alias.target
  } catch (error) {
    if (isStatus(error, 404)) return undefined
    throw error
  }
}

async function upload(client: IncusClient, id: ImageId, files: ImageFiles): Promise<string> {
  const fingerprint = await fingerprintOf(files)
  const known = await readImage(client, fingerprint).catch(() => undefined)
  if (known === undefined) {
    const parts = [
      { name: 'metadata', path: files.metadataPath },
      { name: 'rootfs', path: files.rootfsPath },
    ]
    await client.upload('/1.0/images', parts, importTimeoutMs)
  }
  const body = { name: aliasOf(id), target: fingerprint }
  await client.change('POST', '/1.0/images/aliases', { body })
  return fingerprint
}

/** The engine unpacks an image for the first instance that is made from it. */
async function unpack(engine: Engine, id: ImageId, fingerprint: string): Promise<void> {
  const { client, project, config } = engine
  const { pool } = config
  const target = await engine.readTarget()
  const name = seedOf(id)
  await removeInstance(engine, name)
  // After a crash during unpacking, the engine would take the partial volume for a complete one.
  const volume = `/1.0/storage-pools/${pool}/volumes/image/${fingerprint}`
  await client.change('DELETE', volume, { query: target }).catch((error: unknown) => {
    if (!isStatus(error, 404)) throw error
  })
  await client.change('POST', '/1.0/instances', {
    query: { project, ...target },
    timeoutMs: importTimeoutMs,
    body: {
      name,
      profiles: [],
      config: { 'boot.autostart': 'false' },
      devices: { root: { type: 'disk', path: '/', pool } },
      source: { type: 'image', alias: aliasOf(id) },
    },
  })
  await removeInstance(engine, name)
}

function seedOf(id: ImageId): string {
  return `seed-${aliasOf(id).slice('img_'.length)}`
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

/** Packs the folder of a package as npm does. The same content makes the same file. */
export async function packFolder(folder: string, tgz: string): Promise<void> {
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']
  const modes = ['--mode=u=rwX,go=rX']
  const place = ['--transform=s,^\\.,package,', '--directory', folder, '.']
  const args = ['--create', '--gzip', '--file', tgz, ...same, ...modes, ...place]
  await promisify(execFile)('tar', args)
}

export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

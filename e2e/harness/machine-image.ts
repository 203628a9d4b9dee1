import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../server/src/config.ts'
import type { ImageFiles } from '../../server/src/drivers/machine-driver.ts'

/** The folder of the machine image that the set-up built from the current recipe. */
export const imageDir = join(readConfig(process.env).imageCacheDir, hashRecipe())

export const imageFiles: ImageFiles = {
  metadataPath: join(imageDir, 'metadata.tar'),
  rootfsPath: join(imageDir, 'rootfs.tar.zst'),
}

function hashRecipe(): string {
  const build = fileURLToPath(new URL('../../image/build.sh', import.meta.url))
  return execFileSync('bash', [build, '--hash'], { encoding: 'utf8' }).trim()
}

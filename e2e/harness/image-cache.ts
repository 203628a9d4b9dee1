import { join } from 'node:path'

/** The machine image is all that a server of our own shares with one that runs on this host. */
export function shareImageCache(env = process.env): void {
  env['COMPUTER_IMAGE_CACHE'] ??= join(env['COMPUTER_DATA'] ?? '/var/lib/computer', 'images')
}

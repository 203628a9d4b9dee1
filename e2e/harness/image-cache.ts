import { join } from 'node:path'

/** Lets servers of tests use the machine image of the server on this host. They share nothing else. */
export function shareImageCache(env = process.env): void {
  env['COMPUTER_IMAGE_CACHE'] ??= join(env['COMPUTER_DATA'] ?? '/var/lib/computer', 'images')
}

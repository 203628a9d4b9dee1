import { readFileSync } from 'node:fs'

/** The kernel's id of the boot of this host. Null where the kernel names none. */
export function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() || null
  } catch {
    return null
  }
}

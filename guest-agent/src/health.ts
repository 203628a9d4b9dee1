import { readFileSync } from 'node:fs'
import type { GuestHealth } from '@computer/contract/guest'
import type { Fence } from './fence.ts'

declare const AGENT_VERSION: string | undefined

export function readHealth(fence: Fence): GuestHealth {
  return { version, boot_id: bootId, fence: fence.current }
}

/** Set by the build. */
const version = typeof AGENT_VERSION === 'string' ? AGENT_VERSION : 'development'

const bootId = readBootId()

/** In a container the kernel's boot id is the host's; the start time of init tells boots apart. */
function readBootId(): string {
  const kernel = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const init = readFileSync('/proc/1/stat', 'utf8')
  const startTicks = init.slice(init.lastIndexOf(')') + 2).split(' ')[19]
  return `${kernel}-${startTicks}`
}

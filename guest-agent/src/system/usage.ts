import { readFileSync, statfsSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { GuestUsage } from '@computer/contract'
import { listProcesses } from './proc.ts'

/** Live figures of this machine. CPU use is averaged over the time since the last reading. */
export class Usage {
  #last: Reading | undefined

  async read(): Promise<GuestUsage> {
    let before = this.#last
    // No reading to compare with, or one too old to describe the present.
    if (!before || performance.now() - before.atMs > maxWindowMs) {
      before = readCpu()
      await pause(shortWindowMs)
    }
    const now = readCpu()
    this.#last = now
    const elapsedMs = Math.max(1, now.atMs - before.atMs)
    const percent = ((now.cpuMs - before.cpuMs) / elapsedMs / cpus().length) * 100
    return {
      cpu_percent: Math.round(Math.min(100, Math.max(0, percent)) * 10) / 10,
      memory_used_mb: readMemoryUsedMb(),
      disk_used_bytes: readDiskUsedBytes(),
      processes: listProcesses().length,
    }
  }
}

type Reading = { readonly atMs: number; readonly cpuMs: number }

const maxWindowMs = 60_000
const shortWindowMs = 200

function readCpu(): Reading {
  return { atMs: performance.now(), cpuMs: readCpuMs() }
}

/** From the machine's own cgroup, of either version, or else from /proc. */
function readCpuMs(): number {
  for (const path of ['/sys/fs/cgroup/cpu.stat', '/sys/fs/cgroup/cpuacct/cpuacct.usage']) {
    try {
      const text = readFileSync(path, 'utf8')
      const usec = /^usage_usec (\d+)$/m.exec(text)?.[1]
      return usec === undefined ? Number(text) / 1e6 : Number(usec) / 1000
    } catch {
      // The other cgroup version.
    }
  }
  const ticks = cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq)
  return ticks.reduce((sum, ms) => sum + ms, 0)
}

function readMemoryUsedMb(): number {
  const text = readFileSync('/proc/meminfo', 'utf8')
  const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return Math.round((kb('MemTotal') - kb('MemAvailable')) / 1024)
}

const btrfsMagic = 0x9123683e

/**
 * Null on btrfs: the kernel reports the whole pool there; only the engine knows this machine's
 * share.
 */
function readDiskUsedBytes(): number | null {
  const { type, blocks, bfree, bsize } = statfsSync('/')
  return type === btrfsMagic ? null : (blocks - bfree) * bsize
}

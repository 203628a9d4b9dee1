import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Starts two hundred processes, one after the other. */
const loop = 'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done'
/** Two test files side by side take longer than one after the other from this ratio on. */
const greatestRatio = 1.8

/**
 * Whether two programs that start processes disturb each other: one takes as long beside the other as alone on two
 * cores, and more than twice as long in a virtual machine without page tables in hardware, whose hypervisor does such
 * work on one core at a time. Other work of the host disturbs as well, so three measurements have to agree.
 */
export async function areProcessesDisturbed(): Promise<boolean> {
  for (let measured = 0; measured < 3; measured += 1) {
    const alone = await time(run)
    const beside = await time(() => Promise.all([run(), run()]))
    if (beside / alone <= greatestRatio) return false
  }
  return true
}

async function run(): Promise<void> {
  await once(spawn('sh', ['-c', loop], { stdio: 'ignore' }), 'close')
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Starts two hundred processes, one after the other. */
const loop = 'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done'

/**
 * How many times as long a program that starts processes takes beside another one as alone: about 1 on two cores. It
 * is 2 and more in a virtual machine without page tables in hardware, whose hypervisor does such work on one core at a
 * time. The least of three counts, because other work of the host disturbs as well.
 */
export async function measureDisturbance(): Promise<number> {
  const ratios: number[] = []
  while (ratios.length < 3) {
    const alone = await time(run)
    const beside = await time(() => Promise.all([run(), run()]))
    ratios.push(beside / alone)
  }
  return Math.min(...ratios)
}

async function run(): Promise<void> {
  await once(spawn('sh', ['-c', loop], { stdio: 'ignore' }), 'close')
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

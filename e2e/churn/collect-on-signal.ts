import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/*
 * A process of the server loads this before its own program when its memory is to be measured: when it gets SIGUSR2, it
 * collects its garbage, and then writes its memory to run/collected-PID in its data folder.
 */

/** The memory of a process right after a collection, in bytes. */
export type Collected = {
  /** All of it that is in the host's memory. */
  readonly resident: number
  /** Its objects and buffers. */
  readonly held: number
  /** The part of V8's pages that no object fills. */
  readonly spare: number
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
/** A collection of any other flavor keeps the pages that it has emptied, for later objects. */
const options = { type: 'major', execution: 'sync', flavor: 'last-resort' }
process.on('SIGUSR2', () => {
  collect(options)
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const collected: Collected = {
    resident: rss,
    held: heapUsed + external,
    spare: heapTotal - heapUsed,
  }
  const path = join(process.env['COMPUTER_DATA']!, 'run', `collected-${process.pid}`)
  writeFileSync(path, JSON.stringify(collected))
})

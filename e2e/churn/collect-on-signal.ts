import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/*
 * A process of the server loads this before its own program when its memory is to be measured: when it gets SIGUSR2, it
 * collects its garbage, and then writes how many bytes it holds to run/held-PID in its data folder.
 */
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
/** A collection of any other flavor keeps the pages that it has emptied, for later objects. */
const options = { type: 'major', execution: 'sync', flavor: 'last-resort' }
process.on('SIGUSR2', () => {
  collect(options)
  const { heapUsed, external } = process.memoryUsage()
  const path = join(process.env['COMPUTER_DATA']!, 'run', `held-${process.pid}`)
  writeFileSync(path, String(heapUsed + external))
})

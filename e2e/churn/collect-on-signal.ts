import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/*
 * A process of the server loads this before its own program when its memory is to be measured: it collects its garbage
 * when it gets SIGUSR2.
 */
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
/** A collection of any other flavor keeps the pages that it has emptied, for later objects. */
const options = { type: 'major', execution: 'sync', flavor: 'last-resort' }
process.on('SIGUSR2', () => collect(options))

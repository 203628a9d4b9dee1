import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/*
 * A process of the server loads this before its own program when its memory is to be measured: it collects its garbage
 * when it gets SIGUSR2.
 */
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
process.on('SIGUSR2', () => collect())
